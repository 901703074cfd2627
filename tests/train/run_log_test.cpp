// metrics.jsonl: the contents of a line, and which lines are kept when a killed run resumes.
#include "train/run_log.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

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
  Evaluation& e = record.evaluation.emplace();
  e.loss = 4.5;
  e.proxy.sink_1 = {99, 12.5, 0}, e.raw.sink_1 = {99, 3.25, 0};
  e.proxy.alpha_1 = 0.25, e.raw.alpha_1 = 0.125;
  e.alpha_1_max = 0.5;
  e.row_sum = 0.75;
  e.first_value_norm_ratio = 0.0625;
  e.largest_massive_ratio = 2.5;
  // The scalar of a table is known where the table is.
  e.proxy.alpha_1_layer_head = e.raw.alpha_1_layer_head = e.row_sum_layer_head = {{0}};
  e.massive_ratio = {0};
  auto object = nlohmann::json::parse(to_json(record));
  CHECK(object["train_loss"] == "nan");
  CHECK(object["grad_norm"] == "inf");
  CHECK(object["skipped"] == true);
  const char* keys[] = {"val_loss",     "sink_1",      "sink_1_raw", "alpha_1",
                        "alpha_1_raw",  "alpha_1_max", "row_mass",   "first_value_norm_ratio",
                        "massive_ratio"};
  double values[] = {4.5, 12.5, 3.25, 0.25, 0.125, 0.5, 0.75, 0.0625, 2.5};
  for (int i = 0; i < 9; ++i) CHECK_MESSAGE(object[keys[i]] == values[i], keys[i]);
  for (const char* key : {"sink_star", "alpha_star", "extra_key_mass", "entropy"}) CHECK_FALSE(object.contains(key));

  e.proxy.sink_star = {99, 25, 0}, e.raw.sink_star = {99, 24, 0};
  e.proxy.alpha_star = 0.5, e.raw.alpha_star = 0.375;
  e.proxy.alpha_star_layer_head = e.raw.alpha_star_layer_head = {{0}};
  object = nlohmann::json::parse(to_json(record));
  CHECK(object["sink_star"] == 25);
  CHECK(object["sink_star_raw"] == 24);
  CHECK(object["alpha_star"] == 0.5);
  CHECK(object["alpha_star_raw"] == 0.375);
  CHECK_FALSE(object.contains("extra_key_mass"));  // a sink token
  e.extra_key_weight = 0.25;
  e.extra_key_weight_layer_head = {{0}};
  CHECK(nlohmann::json::parse(to_json(record))["extra_key_mass"] == 0.25);
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

TEST_CASE("run log: the line of the step a run resumes with may be missing, for it comes again; others may not") {
  TemporaryFolder folder;
  const std::string path = folder / "metrics.jsonl";
  struct Case {
    std::string before, kept;
    std::int64_t last_step;
    bool noted;
  } cases[] = {{lines(1, 3), lines(1, 3), 3, false}, {lines(1, 4), lines(1, 4), 4, false},
               {lines(1, 5), lines(1, 4), 4, false}, {lines(1, 3) + "{\"step\": 4, \"tok", lines(1, 3), 3, false},
               {lines(1, 2), lines(1, 2), 2, true},  {"", "", 0, true}};
  for (const Case& one : cases) {
    CAPTURE(one.before);
    write_bytes(path, one.before);
    RunLog log(path, 4, /*last_comes=*/true);
    CHECK(read_bytes(path) == one.kept);
    CHECK(log.last_step() == one.last_step);
    CHECK(log.tokens_per_second() == (one.last_step > 0 ? 6144 : 0));
    CHECK(contains(log.note(), "no lines of steps") == one.noted);
    std::string note = log.note();
    if (const auto at = note.find(folder.path); at != std::string::npos) note.erase(at, folder.path.size());  // random
    CHECK_FALSE(contains(note, "4"));
  }
}

TEST_CASE("run log: damage is found, said and repaired, and the file as it was is kept") {
  auto line = [](std::int64_t step) { return lines(step, step); };
  struct Case {
    std::string damaged, repaired, said;
  } cases[] = {
      {lines(1, 2) + "hello\n" + lines(3, 7), lines(1, 5), "damaged lines 3: repaired"},
      {lines(1, 2) + std::string("\0\0\n", 3) + lines(4, 5), lines(1, 2) + lines(4, 5),
       "damaged lines 3: repaired, and kept as it was as PATH.damaged-1.jsonl; no lines of steps 3, which"},
      {lines(1, 2) + "{\"step\": 3}\n" + lines(4, 5), lines(1, 2) + lines(4, 5), "damaged lines 3: repaired"},
      {lines(1, 3) + lines(3, 5), lines(1, 5), "doubled steps 3: repaired"},
      {lines(1, 5) + lines(1, 5), lines(1, 5), "doubled steps 1 to 5, lines out of order: repaired"},
      {line(1) + line(1) + line(2) + line(2) + lines(3, 9), lines(1, 5), "doubled steps 1 to 2: repaired"},
      {line(2) + line(1) + lines(3, 5), lines(1, 5), "lines out of order: repaired"},
      {lines(1, 3) + line(9) + lines(4, 5), lines(1, 5), "lines out of order: repaired"},
      {line(1) + lines(3, 5), line(1) + lines(3, 5), "no lines of steps 2, which cannot be made again"},
      {lines(2, 3), lines(2, 3), "no lines of steps 1 and 4 to 5, which"},
      {lines(1, 3), lines(1, 3), "no lines of steps 4 to 5, which"},
      {"", "", "no lines of steps 1 to 5, which"},
      {lines(1, 5) + "hello\n", lines(1, 5), "damaged lines 6: repaired"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.damaged);
    TemporaryFolder folder;
    std::string path = folder / "metrics.jsonl", said = one.said;
    write_bytes(path, one.damaged);
    RunLog log(path, 5);
    if (std::size_t at = said.find("PATH"); at != std::string::npos) said.replace(at, 4, folder / "metrics");
    CHECK_MESSAGE(contains(log.note(), path + ": " + said), log.note());
    CHECK(read_bytes(path) == one.repaired);
    CHECK(read_bytes(folder / "metrics.damaged-1.jsonl") == (contains(said, "repaired") ? one.damaged : ""));
    log.write(record_of(6));
    CHECK(read_bytes(path) == one.repaired + lines(6, 6));
  }
}

TEST_CASE("run log: of a doubled step the last line counts, and an older damaged file is not overwritten") {
  TemporaryFolder folder;
  std::string path = folder / "metrics.jsonl", first = lines(1, 2);
  StepRecord later = record_of(2);
  later.train_loss = 7;
  write_bytes(folder / "metrics.damaged-1.jsonl", "older");
  write_bytes(path, first + to_json(later) + "\n");
  RunLog log(path, 2);
  CHECK(read_bytes(path) == lines(1, 1) + to_json(later) + "\n");
  CHECK(read_bytes(folder / "metrics.damaged-1.jsonl") == "older");
  CHECK(read_bytes(folder / "metrics.damaged-2.jsonl") == first + to_json(later) + "\n");
}

TEST_CASE("run log: nothing is said of a log that is whole") {
  TemporaryFolder folder;
  write_bytes(folder / "metrics.jsonl", lines(1, 9) + "{\"step\": 10, \"tok");
  CHECK(RunLog(folder / "metrics.jsonl", 5).note() == "");
  CHECK(entries(folder.path) == 1);
}

TEST_CASE("run log: a link is refused, and what it leads to stays as it is") {
  TemporaryFolder folder;
  write_bytes(folder / "victim", "mine");
  std::filesystem::create_symlink(folder / "victim", folder / "metrics.jsonl");
  for (std::int64_t resumed_step : {std::int64_t{-1}, std::int64_t{5}}) {
    std::string message;
    CHECK(exit_of([&] { RunLog(folder / "metrics.jsonl", resumed_step); }, &message) == Exit::bad_input);
    CHECK(message.find("metrics.jsonl is a link or a special file; expected a file") != std::string::npos);
  }
  CHECK(read_bytes(folder / "victim") == "mine");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(exit_of([&] { RunLog(folder / "pipe", 5); }) == Exit::bad_input);  // it was waited for
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
