// The report of a study, many runs and seeds: its lines and their CSV, its claims and verdicts, what is not known.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/report/report_support.h"

using namespace sink;

namespace {

// One run of a study, whose config.toml is `settings` more than the usual.
struct StudyRun {
  std::string attention = "Softmax", ablation = "baseline", settings = {};
  int seed = 0;
  double sink = 20, raw = 20, star = -1;  // percents
  std::vector<double> alpha = {0.3, 0.1, 0.1, 0.1};
};

std::string make_study_run(const TemporaryFolder& place, const std::string& name, const StudyRun& r) {
  json e = evaluation(name, "text", r.ablation, r.attention, r.seed, 0.3, r.attention == "Sigmoid" ? 0.5 : 1);
  e["sink_1"] = {r.sink, r.sink, r.sink};
  e["sink_1_raw"] = {r.raw, r.raw, r.raw};
  e["alpha_k"] = e["alpha_k_raw"] = r.alpha;
  e.erase("map");
  if (r.star >= 0)
    e.update({{"extra", "key"},
              {"extra_key_mass", 0.2},
              {"row_mass", 0.8},
              {"alpha_star", 0.2},
              {"alpha_star_raw", 0.2},
              {"sink_star", {r.star, r.star, r.star}},
              {"sink_star_raw", {r.star, r.star, r.star}}});
  const std::string toml = "task = \"text\"\nablation = \"" + r.ablation + "\"\nseed = " + std::to_string(r.seed) +
                           "\nsteps = 20\ncontext = 4\n" + r.settings;
  e["config_toml"] = toml;
  const std::string folder = make_run(place, name, e);
  write_bytes(place / name + "/config.toml", toml);
  return folder;
}

std::string page_of(const TemporaryFolder& place, const std::string& arguments) {
  const Subprocess program = report(place, "--out " + place / "r.html" + " " + arguments);
  REQUIRE_MESSAGE(program.wait() == 0, program.err());
  return read_bytes(place / "r.html");
}

// The verdict that stands beside a claim; "" where the page does not make it.
std::string verdict(const std::string& html, const std::string& claim) {
  const std::size_t at = html.find(claim + "</th>");
  if (at == std::string::npos) return "";
  const std::size_t begin = html.find("<b>", at) + 3;
  return html.substr(begin, html.find("</b>", begin) - begin);
}

constexpr const char* kSoftmax = "Softmax attention has a sink on the first token.";
constexpr const char* kSigmoid = "Sigmoid attention without normalisation has no sink.";
constexpr const char* kExtra = "An extra key or sink token takes the sink from the first token.";
constexpr const char* kRate = "The sink of softmax grows with the learning rate.";
constexpr const char* kDecay = "The sink of softmax grows with weight decay, up to 0.5.";
constexpr const char* kFixed = "A fixed token carries the sink at the position where it stands.";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace

TEST_CASE("report study: seeds are one line, their mean, least and greatest at every step that one of them has") {
  const TemporaryFolder place;
  const std::string a = make_study_run(place, "a", {}), b = make_study_run(place, "b", {.seed = 1});
  write_bytes(place / "a/metrics.jsonl",
              "{\"step\": 2, \"val_loss\": 4}\n{\"step\": 6, \"val_loss\": 2}\n{\"step\": 8, \"val_loss\": 1}\n");
  write_bytes(place / "b/metrics.jsonl",
              "{\"step\": 3, \"val_loss\": 5}\n{\"step\": 6, \"val_loss\": 4}\n{\"step\": 7, \"val_loss\": \"nan\"}\n");
  const json data = embedded_data(page_of(place, "--csv " + place / "csv/" + " " + a + b));
  CHECK(data["groups"][0]["arms"].size() == 1);
  CHECK(data["groups"][0]["arms"][0]["runs"] == json({0, 1}));
  // By hand: a is 3.5 at step 3; b is known from 3 to 6; at 8 a is alone.
  CHECK(lines_of(read_bytes(place / "csv/text-val_loss.csv")) ==
        std::vector<std::string>{"line,step,value,least,greatest,runs", "\"softmax, 2 seeds\",2,4,4,4,1",
                                 "\"softmax, 2 seeds\",3,4.25,3.5,5,2", "\"softmax, 2 seeds\",6,3,2,4,2",
                                 "\"softmax, 2 seeds\",8,1,1,1,1"});
  CHECK(lines_of(read_bytes(place / "csv/text-scatter.csv"))[2] == "b,\"softmax, 2 seeds\",4.123457,20");
  CHECK(contains(read_bytes(place / "csv/results.csv"), "run,task,"));
  const Subprocess blocked = report(place, "--out " + place / "r.html" + " --csv " + place / "csv" + " " + a + b);
  CHECK(blocked.wait() == 0);  // its own tables are replaced
  write_bytes(place / "csv/text-val_loss.csv", "my notes");
  CHECK(report(place, "--out " + place / "r.html" + " --csv " + place / "csv" + " " + a + b).wait() == 2);
  CHECK(read_bytes(place / "csv/text-val_loss.csv") == "my notes");
}

TEST_CASE("report study: claims of the study get a verdict from intervals over seeds, and from one seed it is said") {
  const TemporaryFolder place;
  std::string runs;
  int count = 0;
  const auto add = [&](const StudyRun& run) { runs += make_study_run(place, "r" + std::to_string(count++), run); };
  const auto fresh = [&] { runs.clear(); };

  add({.sink = 20});
  std::string html = page_of(place, runs);
  CHECK(verdict(html, kSoftmax) == "true (of one seed: no interval)");
  CHECK(contains(html, "softmax: Sink<sub>1</sub> 20.0 % (seed 0, no interval)"));
  for (const char* claim : {kSigmoid, kExtra, kRate, kDecay, kFixed}) CHECK(verdict(html, claim).empty());

  // 10, 20, 30: mean 20, s = 10, t = 4.303, half = 4.303 * 10 / sqrt(3) = 24.84: the interval holds 2 %.
  add({.seed = 1, .sink = 10});
  add({.seed = 2, .sink = 30});
  html = page_of(place, runs);
  CHECK(verdict(html, kSoftmax) == "not decided by these runs");
  CHECK(contains(html, "20.0 [-4.8, 44.8] % (seeds 0, 1, 2)"));
  fresh();
  for (int seed = 0; seed < 3; ++seed) add({.seed = seed, .sink = 19.0 + seed});
  CHECK(verdict(page_of(place, runs), kSoftmax) == "true");
  fresh();
  for (int seed = 0; seed < 2; ++seed) add({.seed = seed, .sink = 0});
  CHECK(verdict(page_of(place, runs), kSoftmax) == "not true");

  // By proxy, whatever the raw weights are.
  fresh();
  for (int seed = 0; seed < 2; ++seed)
    add({.attention = "Sigmoid", .ablation = "op_sigmoid_none", .seed = seed, .sink = 0, .raw = 40});
  html = page_of(place, runs);
  CHECK(verdict(html, kSigmoid) == "true");
  CHECK(contains(html, "raw 40.0 [40.0, 40.0] %"));
  for (int seed = 0; seed < 2; ++seed) add({.attention = "Sigmoid", .ablation = "other", .seed = seed, .sink = 9});
  html = page_of(place, runs);
  CHECK(verdict(html, kSigmoid) == "not decided by these runs");  // true of one arm, not of the other
  CHECK(contains(html, "of 2 in all: true of 1, not true of 1"));

  fresh();
  for (int seed = 0; seed < 2; ++seed)
    add({.attention = "Softmax extra=LearnedKey", .ablation = "bias_k", .seed = seed, .sink = 0, .star = 40});
  html = page_of(place, runs);
  CHECK(verdict(html, kExtra) == "true");
  CHECK(verdict(html, kSoftmax).empty());  // which is asked of softmax alone
  for (int seed = 0; seed < 2; ++seed)
    add({.attention = "Softmax extra=LearnedKey", .ablation = "bias_kv", .seed = seed, .sink = 30, .star = 40});
  CHECK(verdict(page_of(place, runs), kExtra) == "not decided by these runs");
}

TEST_CASE("report study: growth with a setting is asked seed by seed, of runs that differ in nothing else") {
  const TemporaryFolder place;
  std::string runs;
  int count = 0;
  const auto add = [&](const std::string& settings, int seed, double sink) {
    runs += make_study_run(place, "r" + std::to_string(count++), {.settings = settings, .seed = seed, .sink = sink});
  };
  for (int seed = 0; seed < 3; ++seed) {  // seeds differ more than rates do
    add("learning-rate = 0.001\n", seed, 10 + 20 * seed);
    add("learning-rate = 0.01\n", seed, 13 + 20 * seed);
  }
  std::string html = page_of(place, runs);
  CHECK(verdict(html, kRate) == "true");
  CHECK(contains(html, "seed by seed: 3.0 [3.0, 3.0] (seeds 0, 1, 2)"));
  CHECK(verdict(html, kDecay).empty());
  runs.clear();
  add("learning-rate = 0.001\nheads = 2\n", 0, 10);
  add("learning-rate = 0.01\nheads = 4\n", 0, 20);
  CHECK(verdict(page_of(place, runs), kRate).empty());  // heads differ, too
  runs.clear();
  for (int seed = 0; seed < 2; ++seed) {
    add("weight-decay = 0.0\n", seed, 10 + seed);
    add("weight-decay = 0.5\n", seed, 5 + seed);
    add("weight-decay = 2.0\n", seed, 90);  // beyond what the claim is of
  }
  html = page_of(place, runs);
  CHECK(verdict(html, kDecay) == "not true");
  CHECK(contains(html, "seed by seed: -5.0 [-5.0, -5.0]"));
}

TEST_CASE("report study: a fixed token carries the sink where its alpha is the greatest of every seed") {
  const TemporaryFolder place;
  std::string runs;
  for (int seed = 0; seed < 2; ++seed)
    runs +=
        make_study_run(place, "f" + std::to_string(seed),
                       {.settings = "fixed-first-token = 7\n", .seed = seed, .alpha = {0.6, 0.1, 0.1 + 0.1 * seed}});
  const std::string html = page_of(place, runs);
  CHECK(verdict(html, kFixed) == "not decided by these runs");  // leads of 0.5 and 0.4: 0.45 +- 12.706 * 0.05
  CHECK(contains(html, "0.450 [-0.185, 1.085]"));
  runs = make_study_run(place, "g", {.settings = "fixed-first-token = 7\n", .alpha = {0.1, 0.6, 0.1}});
  CHECK(verdict(page_of(place, runs), kFixed) == "not true (of one seed: no interval)");
}

TEST_CASE("report study: what an older run was not measured for is not known, and no zero") {
  const TemporaryFolder place;
  json older = evaluation("older", "text", "baseline", "Softmax", 0, 0.6, 1), newer = older;
  newer["run"] = "newer";
  newer["seed"] = 1;
  newer["hidden_kurtosis_layer_position"] = {{3, 3, 3, 3}, {40, 3, 3, 3}, {50, 3, 3, 3}};
  newer["value_share_layer_head"] = {{0.1, 0.2}, {0.3, 0.4}};
  newer["loss_position"] = {4, 3, 2, "nan"};
  const std::string a = make_run(place, "a", older), b = make_run(place, "b", newer);
  std::string html = page_of(place, a);
  CHECK(contains(
      html, "Not known of these runs: kurtosis, largest number of the hidden state, value share, loss by position."));
  CHECK_FALSE(contains(html, "data-norm=\"hidden_kurtosis\""));
  html = page_of(place, "--csv " + place / "csv/" + " " + a + b);
  CHECK(contains(html, "Not known of these runs: largest number of the hidden state."));
  CHECK(contains(html, "3 for a normal distribution. Not known of older."));
  const json data = embedded_data(html);
  CHECK_FALSE(data["runs"][0].contains("hidden_kurtosis"));
  CHECK(data["runs"][1]["loss_position"] == json({4, 3, 2, nullptr}));
  const std::vector<std::string> share = lines_of(read_bytes(place / "csv/text-value_share.csv"));
  REQUIRE(share.size() == 3);
  CHECK(share[1] == "\"softmax, 2 seeds\",0,0.15,,,1");
  CHECK(share[2] == "\"softmax, 2 seeds\",1,0.35,,,1");
  newer["value_share_layer_head"] = {{0.1, 0.2}};
  write_bytes(place / "b/evaluation.json", newer.dump());
  const Subprocess bad = report(place, "--out " + place / "x.html " + b);
  CHECK(bad.wait() == 3);
  CHECK(contains(bad.err(), "value_share_layer_head"));
}

TEST_CASE("report study: settings are said once where runs agree, and filters know all of them, hostile ones too") {
  const TemporaryFolder place;
  const std::string hostile = "</script><b>\u202e${1}`";
  json odd = evaluation(hostile, "text", hostile, "Softmax", 0, 0.6, 1);
  const std::string a = make_run(place, "a", odd),
                    b = make_run(place, "b", evaluation("=1+1", "text", "baseline", "Softmax", 0, 0.6, 1));
  write_bytes(place / "b/config.toml", "task = \"text\"\nseed = 7\nsteps = 20\ncontext = 4\nlearning-rate = 0.5\n");
  const json data = embedded_data(page_of(place, "--csv " + place / "csv/" + " " + a + b));
  CHECK(data["common"]["context"] == "4");
  CHECK(data["common"]["attention"] == "Softmax");
  CHECK(data["runs"][0]["settings"]["name"] == hostile);
  CHECK(data["runs"][1]["settings"]["learning-rate"] == "0.5");
  CHECK_FALSE(data["runs"][1]["settings"].contains("context"));
  CHECK_FALSE(data["common"].contains("learning-rate"));
  CHECK(contains(read_bytes(place / "csv/text-scatter.csv"), "\n'=1+1,"));
}

TEST_CASE("report study: a hundred runs with long curves and maps stay under 5 MB, with the same bytes each time") {
  const TemporaryFolder place;
  std::string lines, runs;
  for (int step = 1; step <= 400; ++step) {
    lines += "{\"step\": " + std::to_string(step) + ", \"train_loss\": " + std::to_string(3 + std::sin(step)) +
             ", \"grad_norm\": " + std::to_string(1 + std::cos(step));
    if (step % 2 == 0)
      lines += ", \"val_loss\": " + std::to_string(std::sqrt(step)) +
               ", \"sink_1\": 12.3456, \"sink_1_raw\": 23.4567, " + "\"alpha_1\": " + std::to_string(1.0 / step) +
               ", \"alpha_1_raw\": " + std::to_string(1.1 / step);
    lines += "}\n";
  }
  json e = evaluation("r", "text", "baseline", "Softmax", 0, 0.6, 1);
  const std::vector<double> row(512, 1.23456789);
  e["hidden_norm_layer_position"] = e["hidden_kurtosis_layer_position"] = std::vector<std::vector<double>>(3, row);
  e["key_norm_layer_position"] = e["value_norm_layer_position"] = std::vector<std::vector<double>>(2, row);
  json map = json::array();
  for (int i = 0; i < 96; ++i) map.push_back(std::vector<double>(static_cast<std::size_t>(i + 1), 0.01));
  e["map"] = {{"layer", 1}, {"head", 0}, {"tokens", std::vector<std::string>(96, "x")}, {"weights", map}};
  for (auto& weights : e["map"]["weights"]) weights.get_ref<json::array_t&>().resize(96, 0);
  for (int i = 0; i < 100; ++i) {
    e["run"] = "run-" + std::to_string(i);
    e["seed"] = i % 3;
    const std::string name = "n" + std::to_string(i);
    runs += make_run(place, name, e);
    write_bytes(place / name + "/metrics.jsonl", lines);
    write_bytes(place / name + "/config.toml", "task = \"text\"\nseed = " + std::to_string(i % 3) +
                                                   "\nlearning-rate = " + std::to_string(0.001 * (1 + i / 3)) + "\n");
  }
  const std::string html = page_of(place, runs);
  CHECK(html.size() < 5'000'000);
  CHECK(html == page_of(place, runs));
  const json data = embedded_data(html);
  CHECK(data["groups"][0]["arms"].size() == 34);
  CHECK(data["runs"][99]["curves"]["train_loss"]["x"].size() >= 40);
}
