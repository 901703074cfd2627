// The report of a study, many runs and seeds: its lines, the paper's values, what is not known.
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
  std::string settings = {};
  int seed = 0;
};

std::string make_study_run(const TemporaryFolder& place, const std::string& name, const StudyRun& r) {
  json e = evaluation(name, "text", "baseline", "Softmax", r.seed, 0.3, 1);
  e["sink_1"] = e["sink_1_raw"] = {20, 20, 20};
  e.erase("map");
  const std::string toml = "task = \"text\"\nablation = \"baseline\"\nseed = " + std::to_string(r.seed) +
                           "\nsteps = 20\ncontext = 4\n" + r.settings;
  e["config_toml"] = toml;
  const std::string folder = make_run(place, name, e);
  write_bytes(place / name + "/config.toml", toml);
  return folder;
}

std::string page_of(const TemporaryFolder& place, const std::string& arguments) {
  const Subprocess program = run_report(place, "--out " + place / "r.html" + " " + arguments);
  REQUIRE_MESSAGE(program.wait() == 0, program.err());
  return read_bytes(place / "r.html");
}

}  // namespace

// The values of their line: browser_check.py.
TEST_CASE("report study: of runs with one seed the figures count one, a finished one if there is one") {
  const TemporaryFolder place;
  const std::string policies = "policies = \"position=Learned norm=RMSNorm attention=Softmax\"\n",
                    a = make_study_run(place, "a", {}), again = make_study_run(place, "again", {}),
                    b = make_study_run(place, "b", {.seed = 1}),
                    open = make_study_run(place, "open", {.settings = policies, .seed = 1});
  fs::remove(place / "open/evaluation.json");
  const json data = embedded_data(page_of(place, open + a + again + b));
  CHECK(data["runs"].size() == 4);
  CHECK(data["groups"][0]["arms"].size() == 1);
  CHECK(data["groups"][0]["arms"][0]["runs"] == json({1, 3}));
}

TEST_CASE("report study: the paper's table marks the row of the same kind of input") {
  const TemporaryFolder place;
  const auto rows = [&](const std::string& settings) {
    return page_of(place, make_study_run(place, "q" + std::to_string(settings.size()), {.settings = settings}));
  };
  const std::string natural = "softmax, natural text</th><td>18.18</td><td>3.73</td><td class=\"word\">",
                    fixed = "softmax, text with a fixed first token</th><td>74.11</td><td>n.r.</td><td class=\"word\">";
  CHECK(contains(rows(""), natural + "these runs"));
  CHECK(contains(rows(""), fixed + "other input"));
  CHECK(contains(rows("fixed-token = 1\n"), natural + "other input"));
  for (const char* first : {"fixed-token = 1\n", "fixed-first-token = 7\n"})  // its name in older runs
    CHECK(contains(rows(first), fixed + "these runs"));
  for (const char* other : {"window = 2\n", "fixed-token = 1\nfixed-position = 2\n"})
    CHECK_FALSE(contains(rows(other), "these runs\u2019"));
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
  // What the page says of it: browser_check.py.
  const json data = embedded_data(page_of(place, a + b));
  for (const char* name : {"hidden_kurtosis", "value_share"}) CHECK_FALSE(data["runs"][0].contains(name));
  CHECK(data["runs"][1]["loss_position"] == json({4, 3, 2, nullptr}));
  CHECK(data["runs"][1]["value_share"] == json({{0.1, 0.2}, {0.3, 0.4}}));
  newer["value_share_layer_head"] = {{0.1, 0.2}};
  write_bytes(place / "b/evaluation.json", newer.dump());
  const Subprocess bad = run_report(place, "--out " + place / "x.html " + b);
  CHECK(bad.wait() == 3);
  CHECK(contains(bad.err(), "value_share_layer_head"));
}

TEST_CASE("report study: settings are said once where runs agree, and filters know all of them, hostile ones too") {
  const TemporaryFolder place;
  const std::string hostile = "</script><b>\u202e${1}`";
  json odd = evaluation(hostile, "text", hostile, "Softmax", 0, 0.6, 1);
  const std::string a = make_run(place, "a", odd),
                    b = make_run(place, "b", evaluation("b", "text", "baseline", "Softmax", 0, 0.6, 1));
  write_bytes(place / "b/config.toml", "task = \"text\"\nseed = 7\nsteps = 20\ncontext = 4\nlearning-rate = 0.5\n");
  const json data = embedded_data(page_of(place, a + b));
  CHECK(data["common"]["context"] == "4");
  CHECK(data["common"]["attention"] == "Softmax");
  CHECK(data["runs"][0]["settings"]["name"] == hostile);
  CHECK(data["runs"][1]["settings"]["learning-rate"] == "0.5");
  CHECK_FALSE(data["runs"][1]["settings"].contains("context"));
  CHECK_FALSE(data["common"].contains("learning-rate"));
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
