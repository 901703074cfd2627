// results.csv read back: what was written comes back to the digit, and what people break while editing is named.
#include "tools/report/results_csv.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"
#include "tools/report/csv_lines.h"
#include "tools/report/run_reader.h"
#include "tools/report/run_settings.h"

using namespace sink;
using sink::report::for_each_csv_line;
using sink::report::read_results_csv;

namespace {

const std::string kHeader = "run,task,ablation,finished,measured_step,steps,step,seed,val_loss,sink_1,sink_1_raw";
const std::string kSound = kHeader + ",learning_rate\nA,text,baseline,true,20,20,20,3,4.5,25,26,0.01\n";

std::string refusal(const std::string& csv) {
  try {
    read_results_csv(csv, "f.csv");
  } catch (const Error& error) {
    CHECK(error.code == Exit::bad_input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("csv lines: RFC 4180, with the lines that fields begin on") {
  const std::string text =
      "\xef\xbb\xbf"
      "a,\"b,\"\"c\"\"\nd\",\r\n\r\n\"\",x\n\n\"e\"";
  using Lines = std::vector<std::pair<std::vector<std::string>, std::string>>;
  const auto lines_of = [](const std::string& csv) {
    Lines lines;
    for_each_csv_line(csv, "f.csv", [&](const auto& fields, const std::string& where) {
      lines.emplace_back(fields, where.substr(where.size() - 1));
    });
    return lines;
  };
  CHECK(lines_of(text) == Lines{{{"a", "b,\"c\"\nd", ""}, "1"}, {{"", "x"}, "4"}, {{"e"}, "6"}});
  CHECK(lines_of("\"\"\n\r\na,\r") == Lines{{{""}, "1"}, {{"a", "\r"}, "3"}});
  for (const char* wrong : {"a,b\"c", "\"a\"b,c", "a,\"b\nc"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(lines_of(wrong), doctest::Contains("f.csv line 1: "));
  }
  CHECK_THROWS_WITH(lines_of(std::string(report::kMaxFields, ',')), doctest::Contains("at most 1000 fields"));
}

TEST_CASE("results.csv: the steps at which a sink and a massive activation begin") {
  const TemporaryFolder place;
  const auto run = [&](const char* name, const std::string& metrics) {
    std::filesystem::create_directories(place / name);
    write_bytes(place / name + "/config.toml", "task = \"text\"\nseed = 3\nsteps = 75\n");
    write_bytes(place / name + "/metrics.jsonl", metrics);
    return report::read_run_folder(place / name);
  };
  const auto finished = [&](const char* name, const std::string& metrics) {
    std::filesystem::create_directories(place / name);
    write_bytes(place / name + "/evaluation.json",
                R"({"schema": 1, "run": "done", "task": "text", "seed": 3, "step": 75, "steps": 75, "val_loss": 5,
                    "alpha_1": 0.1})");
    return run(name, metrics);
  };
  const auto line = [](int step, double sink, double ratio) {
    return R"({"step": )" + std::to_string(step) + R"(, "val_loss": 5, "sink_1": )" + std::to_string(sink) +
           R"(, "massive_ratio": )" + std::to_string(ratio) + "}\n";
  };
  const std::string without_evaluation = "{\"step\": 26, \"train_loss\": 5}\n";
  const std::vector<report::Run> runs{
      run("both", line(25, 10, 3) + without_evaluation + line(50, 10.5, 3) + line(75, 0, 3.5)),
      run("sink", line(25, 50, 1) + line(50, 0, 1)), run("older", "{\"step\": 25, \"val_loss\": 5, \"sink_1\": 50}\n"),
      finished("done", line(25, 50, 1) + line(75, 0, 1))};
  const std::vector<report::Run> read = read_results_csv(report::results_csv(runs), "f.csv");
  REQUIRE(read.size() == 4);
  CHECK(read[0].evaluation->get("onset_sink_1") == 50);
  CHECK(read[0].evaluation->get("onset_massive") == 75);
  CHECK(read[1].evaluation->get("onset_sink_1") == 25);
  CHECK(std::isnan(read[1].evaluation->get("onset_massive")));  // it may still come
  CHECK(read[3].finished);
  CHECK(read[3].evaluation->get("onset_massive") == -1);
  CHECK(std::isnan(read[2].evaluation->get("onset_sink_1")));

  // A table without any onset has no column for it: read and written again, it has the same bytes.
  const std::string none = report::results_csv({run("neither", line(25, 5, 1))});
  CHECK_FALSE(contains(none, "onset_"));
  CHECK(report::results_csv(read_results_csv(none, "f.csv")) == none);
}

TEST_CASE("results.csv: the training of a model of another program is unknown, not zero") {
  const TemporaryFolder place;
  const auto fields = [&](const std::string& config) {  // by column
    const std::string file = place / "measured.json";
    write_bytes(file, R"({"schema": 1, "run": "models/tiny.gguf", "step": 0, "alpha_1": 0.5)" + config + "}");
    const std::string csv = report::results_csv(report::read_measurements(file));
    CHECK(read_results_csv(csv, "f.csv")[0].evaluation->get("alpha_1") == 0.5);
    std::vector<std::string> names, values;
    for_each_csv_line(csv, "f.csv",
                      [&](const auto& fields, const std::string&) { (names.empty() ? names : values) = fields; });
    std::map<std::string, std::string> by_name;
    for (std::size_t i = 0; i < names.size(); ++i) by_name[names[i]] = values[i];
    return by_name;
  };
  const auto other = fields(""), ours = fields(R"(, "config_toml": "task = \"text\"\nseed = 0\nsteps = 0\n")");
  for (const char* name : {"steps", "step", "tokens", "seed", "seconds", "ranks", "skipped_steps", "first_skipped"}) {
    CAPTURE(name);
    CHECK(other.at(name) == "");
    CHECK(ours.at(name) == (std::string(name) == "ranks" ? "1" : "0"));
  }
}

TEST_CASE("run folder: interventions of another step, input, context or data are not the run's") {
  const TemporaryFolder place;
  const auto has_them = [&](const char* written) {
    write_bytes(place / "interventions.json",
                std::string(R"({"interventions": [{"name": "removed 1", "change": 0.5}], )") + written + "}");
    return report::read_run_folder(place / "").evaluation->scalar.contains("change_removed_1");
  };
  const auto evaluate = [&](const std::string& data) {
    write_bytes(place / "config.toml", "task = \"text\"\nsteps = 20\n");
    write_bytes(place / "evaluation.json",
                R"({"schema": 1, "step": 20, "input": "text", "context": 64, "alpha_1": 0.5)" + data + "}");
  };
  evaluate(R"(, "measured_data_sha256": "01ff")");
  CHECK(has_them(R"("step": 20, "input": "text", "context": 64, "measured_data_sha256": "01ff")"));
  CHECK(has_them(R"("step": 20, "input": "text", "context": 64)"));  // of an older program
  CHECK_FALSE(has_them(R"("step": 19, "input": "text", "context": 64, "measured_data_sha256": "01ff")"));
  CHECK_FALSE(has_them(R"("step": 20, "input": "The", "context": 64)"));
  CHECK_FALSE(has_them(R"("step": 20, "input": "text", "context": 32, "measured_data_sha256": "01ff")"));
  CHECK_FALSE(has_them(R"("step": 20, "input": "text", "context": 64, "measured_data_sha256": "02ff")"));
  evaluate("");
  CHECK(has_them(R"("step": 20, "input": "text", "context": 64, "measured_data_sha256": "02ff")"));
}

TEST_CASE("results.csv read back: every number and setting that was written, to the digit") {
  const TemporaryFolder place;
  for (const char* folder : {"a", "open", "nothing"}) std::filesystem::create_directories(place / folder);
  write_bytes(place / "a/config.toml",
              "task = \"text\"\nseed = 3\nsteps = 20\nablation = \"bias_k\"\n"
              "policies = \"attention=Softmax extra=LearnedKey+ZeroValue\"\n");
  write_bytes(place / "a/evaluation.json",
              R"({"schema": 1, "run": "=k", "task": "text", "ablation": "bias_k", "seed": 3, "step": 20, "steps": 20,
                  "policies": "attention=Softmax extra=LearnedKey+ZeroValue", "tokens": 5120, "commit": "abc123",
                  "date": "2026-11-21T10:00:00Z", "machine": "A CPU, fast", "data_sha256": "00ff", "precision": "bf16",
                  "initial_sha256": "02ff", "ranks": 2, "data": "data/a, b", "measured_data_sha256": "01ff", "positions": "swap:3",
                  "val_loss": 4.123456789, "sequences": 100, "context": 4, "sink_epsilon": [0.2, 0.3, 0.4],
                  "sink_1": [75, 50, 25], "sink_1_raw": [70, 45, 20], "sink_k": [50, 3.25, 0.125, 0],
                  "alpha_1": 0.123456789, "alpha_1_raw": 0.5, "alpha_k_raw": [0.5, 0.25, 0.125], "alpha_1_max": 0.9, "row_mass": 1, "extra": "key",
                  "extra_key_mass": 0.27, "alpha_star": 0.28, "alpha_star_raw": 0.281, "sink_star": [40, 25, 10],
                  "sink_star_raw": [41, 26, 11], "first_value_norm_ratio": "nan",
                  "alpha_fixed": 0.25, "alpha_fixed_over_even": 3.5})");
  write_bytes(place / "a/metrics.jsonl",
              "{\"step\": 18, \"seconds\": 9.5, \"train_loss\": \"nan\", \"grad_norm\": 0}\n"  // without targets
              "{\"step\": 19, \"seconds\": 10.5, \"train_loss\": \"nan\", \"grad_norm\": 1}\n"
              "{\"step\": 20, \"seconds\": 11.2345678, \"train_loss\": 5, \"grad_norm\": 1}\n");
  write_bytes(place / "open/config.toml", "task = \"text\"\nseed = 7\nsteps = 20\ncontext = 4\n");
  write_bytes(place / "open/metrics.jsonl",
              "{\"step\": 3, \"tokens\": 768, \"train_loss\": 5.5, \"val_loss\": 5.4, \"alpha_1\": 0.2}\n");
  write_bytes(place / "open/failure.txt", "the loss was not finite,\nand more\n");
  write_bytes(place / "nothing/config.toml", "task = \"text\"\nseed = 18446744073709551615\nlearning-rate = 1e-5\n");
  write_bytes(place / "nothing/failure.txt", "out of memory\n");
  const std::vector<report::Run> runs{report::read_run_folder(place / "a"), report::read_run_folder(place / "open"),
                                      report::read_run_folder(place / "nothing")};
  const std::string csv = report::results_csv(runs);
  const std::vector<report::Run> read = read_results_csv(csv, "f.csv");
  CHECK(report::results_csv(read) == csv);
  REQUIRE(read.size() == 3);
  const report::Run& a = read[0];
  CHECK(a.name == "=k");
  CHECK(a.finished);
  CHECK(a.seconds == 11.2345678);
  CHECK(a.skipped_steps == 1);
  CHECK(a.first_skipped == 19);
  CHECK(a.machine == "A CPU, fast");
  CHECK(a.evaluation->get("alpha_fixed_over_even") == 3.5);
  CHECK(a.data_sha256 == "00ff");
  CHECK(a.initial_sha256 == "02ff");
  CHECK(a.ranks == 2);
  CHECK(a.evaluation->data == "data/a, b");
  CHECK(a.evaluation->data_sha256 == "01ff");
  CHECK(a.evaluation->positions == "swap:3");
  CHECK_FALSE(report::measures_own_text(a));
  CHECK(a.commit == "abc123");
  CHECK(a.evaluation->sink_at(0.3, false) == 50);
  CHECK(a.evaluation->sink_star_at(0.3, true) == 26);
  CHECK(a.evaluation->proxy.sink_k == report::Row{50, 3.25, 0.125});
  CHECK(a.evaluation->get("alpha_1") == 0.123456789);
  CHECK(a.evaluation->get("alpha_others_raw") == 0.1875);
  CHECK(a.evaluation->whole_row_sum() == doctest::Approx(1.27));
  CHECK(a.settings == runs[0].settings);
  CHECK_FALSE(read[1].finished);
  CHECK(read[1].unfinished_step == 3);
  CHECK(read[1].failure == "the loss was not finite,");
  CHECK(read[2].seed == 18446744073709551615u);
  CHECK(read[2].failure == "out of memory");
  CHECK(read[2].settings == runs[2].settings);
  CHECK_FALSE(read[2].evaluation.has_value());
}

TEST_CASE("results.csv edited by people: errors name file, line and column") {
  const std::vector<report::Run> sound = read_results_csv(kSound, "f.csv");
  REQUIRE(sound.size() == 1);
  CHECK(sound[0].settings.at("learning-rate") == "0.01");
  CHECK(sound[0].settings.at("heads") == "4");  // a setting that an older program did not know
  CHECK(report::measures_own_text(sound[0]));   // columns that it did not write
  CHECK(sound[0].ranks == 1);
  CHECK(read_results_csv(kHeader + "\n", "f.csv").empty());
  const auto with = [](std::string from, const std::string& to) {
    std::string csv = kSound;
    return csv.replace(csv.find(from), from.size(), to);
  };
  for (const auto& [csv, said] : std::vector<std::pair<std::string, std::string>>{
           {"", "f.csv: expected a header and a line a run, got nothing"},
           {with("learning_rate", "remark"), "f.csv line 1: unknown column `remark`"},
           {with("learning_rate", "resume"), "f.csv line 1: unknown column `resume`"},
           {with("learning_rate", "seed"), "f.csv line 1: the column `seed` is there twice"},
           {with("val_loss,", ""), "f.csv line 1: no column `val_loss`"},
           {with(",0.01", ""), "f.csv line 2: expected 12 fields, as many as the header has, got 11"},
           {with("4.5", "4,5"), "f.csv line 2: expected 12 fields, as many as the header has, got 13"},
           {with("4.5", "4.5x"), "f.csv line 2, column val_loss: expected a number or nothing, got `4.5x`"},
           {with("25", "nan"), "f.csv line 2, column sink_1: expected a number from 0 to 100, or nothing, got `nan`"},
           {with("25", "125"), "f.csv line 2, column sink_1: expected a number from 0 to 100, or nothing, got `125`"},
           {with("true", "yes"), "f.csv line 2, column finished: expected one of true, false, got `yes`"},
           {with(",3,", ",-3,"), "f.csv line 2, column seed: expected a whole number from 0 to 18446744073709551615"},
           {with("0.01", "fast"), "f.csv line 2, column learning_rate must be a number from 0 to 100, got `fast`"},
           {with("true,20", "true,19"), "f.csv line 2, column measured_step: expected the step of a finished run, 20"},
           {with("A,", "\"A,"), "f.csv line 2: the quote of a field is never closed"},
           {kHeader + ",sink_1_eps0.3\nA,text,baseline,true,20,20,20,3,4.5,25,26,24\n",
            "f.csv line 2, column sink_1: expected the same number as in sink_1_eps0.3"}}) {
    const std::string got = refusal(csv);
    CHECK_MESSAGE(got.find(said) != std::string::npos, got, " instead of ", said);
  }
}
