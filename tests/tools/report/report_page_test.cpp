// What the page draws from: attention maps as short text, the look of lines, floors of losses, columns of the table.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "engine/data/bigram_backcopy.h"
#include "tests/tools/report/report_support.h"

using namespace sink;

namespace {

// Reads base64 of little-endian IEEE half floats, by the definitions of both.
std::vector<double> decode(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned> bytes;
  unsigned bits = 0, held = 0;
  for (const char c : text) {
    if (c == '=') break;
    held = held << 6 | static_cast<unsigned>(digits.find(c));
    if ((bits += 6) >= 8) bytes.push_back(held >> (bits -= 8) & 255);
  }
  std::vector<double> out;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const unsigned word = bytes[i] | bytes[i + 1] << 8, exponent = word >> 10 & 31, part = word & 1023;
    const double size =
        exponent == 0 ? std::ldexp(part, -24) : std::ldexp(1024 + part, static_cast<int>(exponent) - 25);
    out.push_back(word & 32768 ? -size : size);
  }
  return out;
}

std::vector<double> weights_of(const json& maps, std::size_t at) {
  std::vector<double> out = decode(maps["weights"][at].get<std::string>());
  for (double& a : out) a = std::ldexp(a, maps["exponent"].get<int>());
  return out;
}

// Maps of two sequences, two layers and two heads over 4 tokens, with an extra key; one map was not stored.
json two_sequences(const std::vector<double>& sizes) {
  json maps{{"layers", 2},
            {"heads", 2},
            {"extra_key", true},
            {"tokens", json::array()},
            {"weights", json::array()},
            {"chosen", {{"sequence", 1}, {"layer", 0}, {"head", 1}}}};
  for (int n = 0; n < 2; ++n) {
    maps["tokens"].push_back({"a", "b", "c", "d"});
    json layers = json::array();
    for (int l = 0; l < 2; ++l) {
      json heads = json::array();
      for (int h = 0; h < 2; ++h) {
        json rows = json::array();
        for (int i = 0; i < 4; ++i) {
          json row = json::array();
          for (int j = 0; j < i + 2; ++j)
            row.push_back(sizes[static_cast<std::size_t>(h)] / (1 + i + 3 * j + 7 * l + 11 * n));
          rows.push_back(row);
        }
        heads.push_back(n == 1 && l == 1 && h == 1 ? json() : rows);
      }
      layers.push_back(heads);
    }
    maps["weights"].push_back(layers);
  }
  return maps;
}

json data_of(const TemporaryFolder& place, const std::string& runs) {
  const Subprocess program = run_report(place, "--out " + place / "r.html" + " " + runs);
  REQUIRE_MESSAGE(program.wait() == 0, program.err());
  return embedded_data(read_bytes(place / "r.html"));
}

json softmax_run(const std::string& name, int seed) {
  return evaluation(name, "text", "pos_learnable", "Softmax", seed, 0.6, 1);
}

}  // namespace

TEST_CASE("report page: every stored map is there, with the extra key's column, to 11 bits") {
  const TemporaryFolder place;
  json evaluated = softmax_run("a", 0);
  evaluated.erase("map");
  evaluated["extra"] = "key";
  evaluated["maps"] = two_sequences({1, -3e6});  // far beyond the largest half float
  const json maps = data_of(place, make_run(place, "a", evaluated))["runs"][0]["maps"];
  CHECK(maps["extra_key"] == true);
  CHECK(maps["chosen"] == json({{"sequence", 1}, {"layer", 0}, {"head", 1}}));
  REQUIRE(maps["weights"].size() == 8);
  CHECK(maps["weights"][7].is_null());
  for (std::size_t at = 0; at < 7; ++at) {
    const std::vector<double> read = weights_of(maps, at);
    REQUIRE(read.size() == 4 * 5 / 2 + 4);
    std::size_t next = 0;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < i + 2; ++j, ++next) {
        const double size = at % 2 == 0 ? 1 : -3e6;
        const double truth = size / static_cast<double>(1 + i + 3 * j + 7 * (at / 2 % 2) + 11 * (at / 4));
        // Weights of one run share a scale: what is a millionth of the largest keeps fewer bits.
        const double unit = std::max(std::abs(truth) * std::ldexp(1, -11), 3e6 * std::ldexp(1, -38));
        CHECK(std::abs(read[next] - truth) <= unit);
      }
  }
}

TEST_CASE("report page: a map holds what a query sees; weights outside of it are never lost") {
  const TemporaryFolder place;
  const std::string a = make_run(place, "a", softmax_run("a", 0)), b = make_run(place, "b", softmax_run("b", 1));
  const std::string settings = "task = \"text\"\nseed = 0\nsteps = 20\ncontext = 4\nwindow = 2\nprefix = 1\n";
  write_bytes(place / "a/config.toml", settings);
  json inside = softmax_run("a", 0);
  inside["config_toml"] = settings;
  inside["map"]["weights"] = {{1, 0, 0, 0}, {0.5, 0.5, 0, 0}, {0.25, 0.25, 0.5, 0}, {0.5, 0, 0.25, 0.25}};
  write_bytes(place / "a/evaluation.json", inside.dump());
  json outside = softmax_run("b", 1);
  outside["map"]["weights"][0][3] = 0.125;  // the settings know of no prefix
  write_bytes(place / "b/evaluation.json", outside.dump());
  const json data = data_of(place, a + b);
  const json &seen = data["runs"][0]["maps"], &all = data["runs"][1]["maps"];
  CHECK(seen["full"] == false);
  CHECK(seen["window"] == 2);
  CHECK(seen["prefix"] == 1);
  CHECK(weights_of(seen, 2) == std::vector<double>{1, 0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.25, 0.25});
  CHECK(all["full"] == true);
  CHECK(weights_of(all, 2).size() == 16);
  CHECK(weights_of(all, 2)[3] == 0.125);
  CHECK(all["weights"][0].is_null());
}

TEST_CASE("report page: many long maps are cut to what fits, and it says so") {
  const TemporaryFolder place;
  constexpr int kTokens = 160, kSequences = 3, kLayers = 4, kHeads = 4;
  json evaluated = softmax_run("a", 0), map = json::array(), layer = json::array(), sequence = json::array(),
       heads = json::array();
  for (int i = 0; i < kTokens; ++i) map.push_back(std::vector<double>(static_cast<std::size_t>(i + 1), 0.25));
  for (int h = 0; h < kHeads; ++h) layer.push_back(map), heads.push_back(0.5);
  json table = json::array(), tokens = json::array();
  for (int l = 0; l < kLayers; ++l) sequence.push_back(layer), table.push_back(heads);
  evaluated["alpha_1_layer_head"] = evaluated["alpha_1_layer_head_raw"] = table;
  evaluated.erase("map");
  evaluated["maps"] = {{"layers", kLayers},        {"heads", kHeads},
                       {"extra_key", false},       {"tokens", json::array()},
                       {"weights", json::array()}, {"chosen", {{"sequence", 0}, {"layer", 0}, {"head", 0}}}};
  for (int n = 0; n < kSequences; ++n) {
    evaluated["maps"]["weights"].push_back(sequence);
    evaluated["maps"]["tokens"].push_back(std::vector<std::string>(kTokens, "x"));
  }
  std::string runs;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) runs += make_run(place, name, evaluated);
  const json maps = data_of(place, runs)["runs"][5]["maps"];
  CHECK(read_bytes(place / "r.html").size() < 5'000'000);
  CHECK(maps["of"] == kTokens);
  CHECK(maps["tokens"].size() == kSequences);
  CHECK(maps["tokens"][0].size() == 64);
  CHECK(weights_of(maps, 47) == std::vector<double>(64 * 65 / 2, 0.25));
}

TEST_CASE("report page: the first line of a colour is solid, dashes come where a colour repeats") {
  const TemporaryFolder place;
  const std::string runs =
      make_run(place, "r", evaluation("r", "text", "pos_learnable_relu", "ReLU", 0, 0.1, 0.5)) +
      make_run(place, "g", evaluation("g", "text", "pos_learnable_sigmoid", "Sigmoid", 0, 0.2, 0.5)) +
      make_run(place, "s", softmax_run("s", 0)) + make_run(place, "t", softmax_run("t", 1));
  const json drawn = data_of(place, runs)["runs"];
  CHECK(drawn[0]["dash"] == 0);
  CHECK(drawn[1]["dash"] == 0);
  CHECK(drawn[2]["dash"] == 0);  // softmax, whatever its place
  CHECK(drawn[3]["dash"] == 1);
  CHECK(drawn[2]["colour"] == drawn[3]["colour"]);
  CHECK(drawn[0]["colour"] != drawn[1]["colour"]);
  CHECK(drawn[1]["colour"] != drawn[2]["colour"]);
}

TEST_CASE("report page: the floor of the loss is the task's own") {
  const TemporaryFolder place;
  json evaluated = evaluation("copy", "bigram-backcopy", "baseline", "Softmax", 3, 0.7, 1);
  const std::string settings = "task = \"bigram-backcopy\"\nseed = 3\nsteps = 20\ncontext = 16\neval-sequences = 24\n";
  evaluated["config_toml"] = settings;
  evaluated["context"] = 16;
  evaluated["sequences"] = 24;
  const std::string copy = make_run(place, "copy", evaluated), text = make_run(place, "text", softmax_run("text", 0));
  write_bytes(place / "copy/config.toml", settings);
  const json runs = data_of(place, copy + text)["runs"];
  DataConfig config;
  config.seed = 3;
  config.eval_sequences = 24;
  const BigramBackcopy task(config, 16);
  const double best = task.best_loss(task.validation_batch(0, 24));
  CHECK(runs[0]["floor"]["train_loss"].get<double>() == doctest::Approx(task.entropy_floor()).epsilon(1e-4));
  CHECK(runs[0]["floor"]["val_loss"].get<double>() == doctest::Approx(best).epsilon(1e-4));
  CHECK_FALSE(runs[1].contains("floor"));
  const auto has = [&](const std::string& part) { return contains(read_bytes(place / "r.html"), part); };
  char above[32];
  std::snprintf(above, sizeof above, "<td>%.3f</td>", 4.123456789 - best);
  CHECK(has(above));

  // A prefix leaves out the first targets; what training costs at best is then not known. "study" counts targets that
  // the prefix shows, so that the lowest loss is not known either.
  const auto floor_of = [&](const std::string& more) {
    write_bytes(place / "copy/config.toml", settings + more);
    const json run = data_of(place, copy)["runs"][0];
    return run.contains("floor") ? run["floor"] : json();
  };
  const BigramBackcopy with_prefix(config, 16, 12);
  const double best_with_prefix = with_prefix.best_loss(with_prefix.validation_batch(0, 24));
  CHECK(std::abs(best_with_prefix - best) > 0.01);
  const json floor = floor_of("prefix = 12\n");
  CHECK(floor["val_loss"].get<double>() == doctest::Approx(best_with_prefix).epsilon(1e-4));
  CHECK_FALSE(floor.contains("train_loss"));
  CHECK(floor_of("prefix = 2\n") == runs[0]["floor"]);
  CHECK(floor_of("prefix = 2\nprefix-validation = \"study\"\n") == runs[0]["floor"]);
  CHECK(floor_of("prefix = 12\nprefix-validation = \"study\"\n").is_null());
  CHECK(floor_of("prefix = 16\n").is_null());  // no such task
  write_bytes(place / "copy/config.toml", settings);

  // Measured on more or shorter sequences, the loss cannot be compared with the floor.
  for (const auto& [sequences, context] : {std::pair(25, 16), std::pair(24, 8)}) {
    evaluated["sequences"] = sequences;
    evaluated["context"] = context;
    write_bytes(place / "copy/evaluation.json", evaluated.dump());
    data_of(place, copy + text);
    CHECK_FALSE(has(above));
    CHECK_FALSE(has(">above best<"));
  }
}

TEST_CASE("report page: a colour belongs to the ablation, whatever the order of the runs and whatever else is shown") {
  const TemporaryFolder place;
  const auto run = [&](const std::string& name, const std::string& ablation, const std::string& attention) {
    return make_run(place, name, evaluation(name, "text", ablation, attention, 0, 0.2, 0.5));
  };
  const std::string soft = run("s", "baseline", "Softmax"), sigmoid = run("g", "op_sigmoid_none", "Sigmoid"),
                    own = run("o", "somebodys_own", "Own");
  const auto colours = [&](const std::string& runs) {
    std::map<std::string, int> out;
    const json data = data_of(place, runs);
    for (const json& drawn : data["runs"]) out[drawn["name"]] = drawn["colour"].get<int>();
    return out;
  };
  const auto all = colours(soft + sigmoid + own);
  CHECK(all.at("s") == 0);
  CHECK(all.at("g") == 1);
  CHECK(colours(own + sigmoid + soft) == all);
  for (const auto& [name, colour] : colours(sigmoid + own)) CHECK(all.at(name) == colour);
  CHECK(colours(own).at("o") == all.at("o"));
}

TEST_CASE(
    "report page: the filter comes with five runs; a model trained elsewhere has its name and no text on training") {
  const TemporaryFolder place;
  std::string runs;
  for (int seed = 0; seed < 5; ++seed) {
    runs += make_run(place, std::string(1, static_cast<char>('a' + seed)), softmax_run("r", seed));
    data_of(place, runs);
    CHECK(contains(read_bytes(place / "r.html"), "<details class=\"chooser\" hidden>") == (seed < 4));
  }
  CHECK(contains(read_bytes(place / "r.html"), "data-term=\"text\""));
  json model = softmax_run("models/SmolLM2/", 0);
  model["config_toml"] = "";
  model.erase("steps");
  write_bytes(place / "m.json", model.dump());
  const json data = data_of(place, place / "m.json");
  const std::string html = read_bytes(place / "r.html");
  CHECK(data["groups"][0]["arms"][0]["label"] == "SmolLM2");
  CHECK(contains(html, "<h2 class=\"headline\"><b>SmolLM2</b> puts <b>60\u00a0%</b>"));
  CHECK_FALSE(contains(html, "data-term=\"text\""));
  CHECK_FALSE(contains(html, "What the paper found at full size"));
  CHECK_FALSE(contains(html, "<b>softmax"));
  CHECK_FALSE(contains(html, "seed 0"));  // nothing is known of its training
}
