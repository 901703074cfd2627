// The report program from outside: synthetic run folders in, one self-contained page and results.csv out.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"

using namespace sink;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Subprocess report(const TemporaryFolder& folder, const std::string& arguments) {
  return {folder, words_of("report " + arguments)};
}

// An evaluation with T = 4, two layers and two heads. `mass` scales the proxy weights to the raw ones.
json evaluation(const std::string& name, const std::string& task, const std::string& ablation,
                const std::string& attention, int seed, double alpha, double mass) {
  const json heads = {{alpha, 0.5}, {0.25, 0.125}}, raw = {{alpha * mass, 0.5 * mass}, {0.25 * mass, 0.125 * mass}};
  return {{"schema", 1},
          {"run", name},
          {"task", task},
          {"ablation", ablation},
          {"policies", "position=Learned norm=RMSNorm attention=" + attention},
          {"seed", seed},
          {"step", 20},
          {"steps", 20},
          {"tokens", 5120},
          {"parameters", 1000},
          {"commit", "abc123"},
          {"date", "2026-11-21T10:00:00Z"},
          {"precision", "f32"},
          {"config_toml", "task = \"" + task + "\"\n"},
          {"val_loss", 4.123456789},
          {"sequences", 100},
          {"context", 4},
          {"sink_epsilon", {0.2, 0.3, 0.4}},
          {"sink_1", {75, 50, 25}},
          {"sink_1_raw", {70, 45, 20}},
          {"alpha_1", alpha},
          {"alpha_1_raw", alpha * mass},
          {"alpha_1_max", 0.9},
          {"row_mass", mass},
          {"first_value_norm_ratio", "nan"},
          {"alpha_k", {alpha, 0.1, 0.1, 0.1}},
          {"alpha_k_raw", {alpha * mass, 0.1, 0.1, 0.1}},
          {"alpha_1_layer_head", heads},
          {"alpha_1_layer_head_raw", raw},
          {"hidden_norm_layer_position", {{9, 1, 1, 1}, {90, 2, 2, 2}, {95, 3, 3, 3}}},
          {"key_norm_layer_position", {{1, 2, 2, 2}, {1, 2, 2, 2}}},
          {"value_norm_layer_position", {{0.1, 2, 2, 2}, {0.1, 2, 2, 2}}},
          {"map",
           {{"layer", 1},
            {"head", 0},
            {"tokens", {"</script>", " <b>", "\n", "x"}},
            {"weights", {{1, 0, 0, 0}, {0.5, 0.5, 0, 0}, {0.5, 0.25, 0.25, 0}, {0.5, 0.25, 0.125, 0.125}}}}}};
}

std::string metrics() {
  return "{\"step\": 1, \"tokens\": 256, \"train_loss\": 6.5, \"val_loss\": 6.4, \"alpha_1\": 0.1, \"alpha_1_raw\": "
         "0.1}\n"
         "{\"step\": 2, \"tokens\": 512, \"train_loss\": \"nan\", \"skipped\": true}\n"
         "{\"step\": 3, \"tokens\": 768, \"train_loss\": 5.5, \"val_loss\": 5.4, \"alpha_1\": 0.2, \"alpha_1_raw\": "
         "0.2}\n";
}

std::string make_run(const TemporaryFolder& place, const std::string& folder, const json& evaluated) {
  fs::create_directories(place / folder);
  write_bytes(place / folder + "/config.toml", "task = \"text\"\nseed = 7\nsteps = 20\ncontext = 4\n");
  write_bytes(place / folder + "/metrics.jsonl", metrics());
  if (!evaluated.is_null()) write_bytes(place / folder + "/evaluation.json", evaluated.dump());
  return place / folder + " ";
}

// The JSON the page draws from, as the browser reads it.
json embedded_data(const std::string& html) {
  const std::string open = "id=\"report-data\">";
  const std::size_t begin = html.find(open) + open.size();
  return json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

constexpr const char* kHostile = "</script><b onclick='x'>\"&{{data}}";

}  // namespace

TEST_CASE("report: one self-contained, deterministic page of several runs and tasks") {
  const TemporaryFolder place;
  const std::string runs =
      make_run(place, "a", evaluation("soft-0", "text", "pos_learnable", "Softmax", 0, 0.6, 1)) +
      make_run(place, "b", evaluation("soft-1", "text", "pos_learnable", "Softmax", 1, 0.64, 1)) +
      make_run(place, "c", evaluation("sig", "text", "pos_learnable_sigmoid", "Sigmoid", 0, 0.5, 0.06)) +
      make_run(place, "d", evaluation("copy", "bigram-backcopy", "baseline", "Softmax", 0, 0.7, 1));
  const Subprocess first = report(place, "--out " + place / "one.html" + " " + runs);
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  REQUIRE(report(place, "--out " + place / "deep/er/two.html" + " " + runs).wait() == 0);
  const std::string html = read_bytes(place / "one.html");
  CHECK(html == read_bytes(place / "deep/er/two.html"));
  CHECK(html.size() < 5'000'000);
  for (const auto& entry : fs::directory_iterator(place.path)) CHECK_FALSE(contains(entry.path().string(), ".tmp-"));

  // Nothing is fetched: no reference to elsewhere but the two addresses in Chart.js's comments, and a policy against
  // it.
  for (const char* reference : {" src=", "@import", "url(", "<link", "<iframe", "http://"})
    CHECK_FALSE(contains(html, reference));
  CHECK(count(html, "https://") ==
        count(html, "https://www.chartjs.org") + count(html, "https://github.com/kurkle/color"));
  CHECK(contains(html, "default-src 'none'"));

  // The sentence, by hand: mean alpha (0.6 + 0.64) / 2; raw 0.5 * 0.06; evenly (1 + 1/2 + 1/3 + 1/4) / 4 = 0.5208.
  CHECK(contains(html, "<b>softmax</b> gives the first token <b>62\u00a0%</b> of its attention, mean of 2 seeds"));
  CHECK(contains(html, "<b>sigmoid</b>: a weight of <b>0.03</b> as it acts (50\u00a0% of the little it spends"));
  CHECK(contains(html, "Attention spread evenly would give it 52\u00a0%."));
  CHECK(contains(html, "mean of 2 seeds</th>"));

  const json data = embedded_data(html);
  REQUIRE(data["runs"].size() == 4);
  CHECK(data["groups"].size() == 2);
  CHECK(data["groups"][0]["runs"] == json({0, 1, 2}));
  CHECK(data["groups"][0]["even"][0].get<double>() == doctest::Approx(0.52083).epsilon(1e-4));
  CHECK(data["groups"][0]["even"][3].get<double>() == doctest::Approx(0.25));
  const json& loss = data["runs"][0]["curves"]["train_loss"];
  CHECK(loss["x"] == json({1, 2, 3}));
  CHECK(loss["y"] == json({6.5, nullptr, 5.5}));  // the skipped step is a gap
  CHECK(data["runs"][0]["curves"]["val_loss"]["x"] == json({1, 3}));
  CHECK(data["runs"][0]["map"]["weights"][2] == json({0.5, 0.25, 0.25}));
  CHECK(data["runs"][0]["colour"] == data["runs"][3]["colour"]);  // softmax in both tasks
  CHECK(data["runs"][0]["dash"] != data["runs"][1]["dash"]);
}

TEST_CASE("report: names, titles and configurations cannot become markup") {
  const TemporaryFolder place;
  json hostile = evaluation(kHostile, kHostile, kHostile, "Softmax", 0, 0.6, 1);
  hostile["config_toml"] = "x = \"</pre><img>\"";
  hostile["commit"] = hostile["date"] = kHostile;
  const std::string out = place / "r.html";
  const Subprocess result = report(place, "--out " + out + " --title <i>& " + make_run(place, "h", hostile));
  REQUIRE_MESSAGE(result.wait() == 0, result.err());
  const std::string html = read_bytes(out);
  CHECK(contains(html, "<title>&lt;i&gt;&amp;</title>"));
  CHECK(contains(html, "&lt;/script&gt;&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;{{data}}"));
  for (const char* markup : {"<b onclick", "<i>&", "<img", "</pre><img"}) CHECK_FALSE(contains(html, markup));
  CHECK(count(html, "</script>") == 6);  // ours: theme, data, Chart.js and three scripts
  CHECK(embedded_data(html)["runs"][0]["name"] == kHostile);
  CHECK(embedded_data(html)["runs"][0]["map"]["tokens"][0] == "</script>");
}

TEST_CASE("report: results.csv has the contract's columns and the evaluation's values") {
  const TemporaryFolder place;
  const std::string runs =
      make_run(place, "a", evaluation("x,\"y\"", "text", "pos_learnable_sigmoid", "Sigmoid", 3, 0.5, 0.06)) +
      make_run(place, "open", json());
  REQUIRE(report(place, "--out " + place / "r.html" + " --csv " + place / "r.csv" + " " + runs).wait() == 0);
  std::istringstream csv(read_bytes(place / "r.csv"));
  std::string header, finished, open, rest;
  std::getline(csv, header);
  std::getline(csv, finished);
  std::getline(csv, open);
  CHECK(header ==
        "run,task,ablation,seed,steps,step,tokens,val_loss,sink_1,sink_1_raw,alpha_1,alpha_1_raw,alpha_1_max,row_mass,"
        "first_value_norm_ratio,sink_1_eps0.2,sink_1_raw_eps0.2,sink_1_eps0.3,sink_1_raw_eps0.3,sink_1_eps0.4,"
        "sink_1_raw_eps0.4");
  CHECK(finished ==
        "\"x,\"\"y\"\"\",text,pos_learnable_sigmoid,3,20,20,5120,4.12345679,50,45,0.5,0.03,0.9,0.06,,75,70,50,45,25,20");
  CHECK(open == "open,text,,7,20,3,768,,,,,,,,,,,,,,");
  CHECK_FALSE(std::getline(csv, rest));
}

TEST_CASE("report: a run in progress shows what it has, up to its last whole line") {
  const TemporaryFolder place;
  const std::string run = make_run(place, "open", json());
  write_bytes(place / "open/metrics.jsonl", metrics() + "{\"step\": 3, \"train_loss\": 5.25}\n{\"step\": 4, \"tr");
  REQUIRE(report(place, "--out " + place / "r.html" + " " + run).wait() == 0);
  const std::string html = read_bytes(place / "r.html");
  CHECK(contains(html, "in progress"));
  CHECK(contains(html, "1 run on 1 task, 1 still in progress."));
  const json loss = embedded_data(html)["runs"][0]["curves"]["train_loss"];
  CHECK(loss["x"] == json({1, 2, 3}));
  CHECK(loss["y"] == json({6.5, nullptr, 5.25}));  // a resumed run replaced step 3
}

TEST_CASE("report: long runs are thinned, and the page stays small") {
  const TemporaryFolder place;
  const std::string run = make_run(place, "long", json());
  std::string lines;
  for (int step = 1; step <= 30000; ++step)
    lines += "{\"step\": " + std::to_string(step) + ", \"train_loss\": " + std::to_string(step % 2) + "}\n";
  write_bytes(place / "long/metrics.jsonl", lines);
  REQUIRE(report(place, "--out " + place / "r.html" + " " + run).wait() == 0);
  const json loss = embedded_data(read_bytes(place / "r.html"))["runs"][0]["curves"]["train_loss"];
  REQUIRE(loss["x"].size() == 300);
  CHECK(loss["x"][0] == 100);
  CHECK(loss["x"][299] == 30000);
  CHECK(loss["y"][150].get<double>() == doctest::Approx(0.5));  // the mean of 0 and 1
}

TEST_CASE("report: what cannot be read is named in one line, with exit code 3, and nothing is written") {
  const TemporaryFolder place;
  const std::string out = place / "r.html";
  const auto expect = [&](const std::string& arguments, int code, const std::vector<std::string>& said) {
    const Subprocess program = report(place, "--out " + out + " " + arguments);
    CAPTURE(arguments);
    CHECK(program.wait() == code);
    const std::string errors = program.err();
    CAPTURE(errors);
    CHECK(errors.rfind("report: error: ", 0) == 0);
    CHECK(count(errors, "\n") == 1);
    for (const std::string& part : said) CHECK(contains(errors, part));
    CHECK_FALSE(fs::exists(out));
  };
  const json good = evaluation("r", "text", "pos_learnable", "Softmax", 0, 0.6, 1);
  const std::string run = make_run(place, "r", good);
  const std::string file = place / "r/evaluation.json";

  expect(place / "missing", 3, {"missing", "is not a folder"});
  fs::create_directories(place / "empty");
  expect(place / "empty", 3, {"is not a run folder", "evaluation.json"});
  expect(run + "--chart-js " + place / "none.js", 3, {"no such file"});
  write_bytes(file, good.dump().substr(0, 200));
  expect(run, 3, {"evaluation.json", "not JSON"});
  write_bytes(file, std::string(100000, '[') + std::string(100000, ']'));
  expect(run, 3, {"evaluation.json", "nests lists and objects more than 64 deep"});
  json bad = good;
  bad["schema"] = 2;
  write_bytes(file, bad.dump());
  expect(run, 3, {"schema", "expected 1, got 2"});
  bad = good;
  bad["alpha_1_layer_head"] = {{0.1, 0.2}, {0.3}};
  write_bytes(file, bad.dump());
  expect(run, 3, {"alpha_1_layer_head", "rows differ in length: 2 and 1"});
  bad = good;
  bad["map"]["tokens"] = {"a"};
  write_bytes(file, bad.dump());
  expect(run, 3, {"map", "got 4 rows"});
  write_bytes(file, good.dump());
  write_bytes(place / "r/metrics.jsonl", metrics() + "oops\n");
  expect(run, 3, {"metrics.jsonl line 4", "not JSON"});
  expect("", 2, {"RUN_FOLDER"});
  expect(run + "--colour", 2, {"--colour"});
  write_bytes(place / "r/metrics.jsonl", metrics());
  write_bytes(place / "file", "");
  const Subprocess blocked = report(place, "--out " + place / "file/r.html " + run);
  CHECK(blocked.wait() == 8);
  CHECK(contains(blocked.err(), "cannot write"));
}
