// metrics.jsonl: what a line says, and what stays of it when a killed run goes on.
#include "train/run_log.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/files.h"

using namespace sink;

namespace {

StepRecord record_of(std::int64_t step) {
  StepRecord record;
  record.step = step;
  record.tokens = step * 3072;
  record.seconds = 0.5 * static_cast<double>(step);
  record.tokens_per_second = 6144;
  record.learning_rate = 0.004;
  record.train_loss = 1.0 / 3;
  record.grad_norm = 1;
  return record;
}

std::string lines(std::int64_t first, std::int64_t last) {
  std::string text;
  for (std::int64_t step = first; step <= last; ++step) text += to_json(record_of(step)) + "\n";
  return text;
}

}  // namespace

TEST_CASE("run log: a line has the keys and digits it promises") {
  CHECK(to_json(record_of(2)) ==
        R"({"step": 2, "tokens": 6144, "seconds": 1, "tokens_per_second": 6144, "learning_rate": 0.004, )"
        R"("train_loss": 0.333333333, "grad_norm": 1})");
  StepRecord record = record_of(3);
  record.skipped = true;
  record.train_loss = std::numeric_limits<double>::quiet_NaN();
  record.grad_norm = std::numeric_limits<double>::infinity();
  record.evaluation = EvalRecord{4.5, 12.5, 3.25, 0.25, 0.125, 0.5, 0.75, 0.0625};
  auto object = nlohmann::json::parse(to_json(record));
  CHECK(object["train_loss"] == "nan");
  CHECK(object["grad_norm"] == "inf");
  CHECK(object["skipped"] == true);
  const char* keys[] = {"val_loss",    "sink_1",      "sink_1_raw", "alpha_1",
                        "alpha_1_raw", "alpha_1_max", "row_mass",   "first_value_norm_ratio"};
  double values[] = {4.5, 12.5, 3.25, 0.25, 0.125, 0.5, 0.75, 0.0625};
  for (int i = 0; i < 8; ++i) CHECK_MESSAGE(object[keys[i]] == values[i], keys[i]);
  for (const char* key : {"sink_star", "alpha_star", "slot_mass"}) CHECK_FALSE(object.contains(key));

  record.evaluation->star = {.sink = 25, .sink_raw = 24, .alpha = 0.5, .alpha_raw = 0.375};
  object = nlohmann::json::parse(to_json(record));
  CHECK(object["sink_star"] == 25);
  CHECK(object["sink_star_raw"] == 24);
  CHECK(object["alpha_star"] == 0.5);
  CHECK(object["alpha_star_raw"] == 0.375);
  CHECK_FALSE(object.contains("slot_mass"));  // a sink token
  record.evaluation->star->slot_mass = 0.25;
  CHECK(nlohmann::json::parse(to_json(record))["slot_mass"] == 0.25);
}

TEST_CASE("run log: a resumed run keeps the lines up to its step and drops the rest") {
  TemporaryFolder folder;
  std::string path = folder / "metrics.jsonl";
  {
    RunLog log(path);
    for (int step = 1; step <= 7; ++step) log.write(record_of(step));
    log.sync();
  }
  CHECK(read_bytes(path) == lines(1, 7));
  for (const char* half_written : {"", "{\"step\": 8, \"tok", "{\"step\": 3}"}) {
    CAPTURE(half_written);
    write_bytes(path, lines(1, 7) + half_written);
    RunLog log(path, 4);
    CHECK(read_bytes(path) == lines(1, 4));
    log.write(record_of(5));
    CHECK(read_bytes(path) == lines(1, 5));
  }
  {
    write_bytes(path, lines(1, 4) + "{\"step\": 4, \"to");
    RunLog log(path, 4);
    CHECK(read_bytes(path) == lines(1, 4));
  }
  RunLog anew(path);
  CHECK(read_bytes(path).empty());
}

TEST_CASE("run log: a foreign line in the middle is not dropped in silence") {
  TemporaryFolder folder;
  std::string text = lines(1, 2) + "hello\n" + lines(3, 4), message;
  write_bytes(folder / "metrics.jsonl", text);
  CHECK(exit_of([&] { RunLog(folder / "metrics.jsonl", 4); }, &message) == Exit::bad_input);
  CHECK(message.find("line 3") != std::string::npos);
  CHECK(read_bytes(folder / "metrics.jsonl") == text);
}

TEST_CASE("run log: a full disk is an error and leaves only whole lines") {
  TemporaryFolder folder;
  RunLog log(folder / "metrics.jsonl");
  log.write(record_of(1));
  auto write = [&] {
    FileSizeLimit limit(lines(1, 1).size() + 20);
    log.write(record_of(2));
  };
  CHECK(exit_of(write) == Exit::io);
  CHECK(read_bytes(folder / "metrics.jsonl") == lines(1, 1));
  log.write(record_of(2));
  CHECK(read_bytes(folder / "metrics.jsonl") == lines(1, 2));
  CHECK(exit_of([] { RunLog("/dev/null/metrics.jsonl"); }) == Exit::io);
}
