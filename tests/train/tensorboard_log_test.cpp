// A run's event file: one record per step with the values of metrics.jsonl. A folder that cannot be written ends no
// run.
#include "train/tensorboard_log.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "engine/io/file.h"
#include "model/all_ablations.h"
#include "tests/support/files.h"

using namespace sink;
namespace fs = std::filesystem;

namespace {

RunConfig config_of(std::int64_t steps) {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 1;
  config.heads = 2;
  config.width = config.feed_forward = 16;
  config.context = 16;
  config.batch = 2;
  config.eval_sequences = 2;
  config.steps = steps;
  config.eval_every = 2;
  return config;
}

std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// The messages of the records: the bytes between the lengths and the checksums.
std::vector<std::string> messages(const std::string& file) {
  std::vector<std::string> found;
  std::string bytes = read_file("test", file);
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, 8);
    found.push_back(bytes.substr(at + 12, length));
    at += length + 16;
  }
  return found;
}

}  // namespace

TEST_CASE("tensorboard log: one record a step after the header and the start") {
  TemporaryFolder folder;
  Progress progress(3, 1, true);
  TrainingRun run(config_of(3), ablation_named("baseline"));
  {
    TensorboardLog log(folder.path, 0, progress);
    run.train({&log});
  }
  std::vector<std::string> files = event_files(folder.path);
  REQUIRE(files.size() == 1);
  CHECK(files[0].find("events.out.tfevents.") != std::string::npos);
  std::vector<std::string> all = messages(files[0]);
  REQUIRE(all.size() == 2 + 3);
  CHECK(all[0].find("brain.Event:2") != std::string::npos);
  CHECK(all[2].find("loss/train") != std::string::npos);
  CHECK(all[2].find("sink/alpha_1_max") != std::string::npos);  // after the first step, every second, and the last
  CHECK(all[3].find("loss/validation") != std::string::npos);
  CHECK(all[4].find("training/learning_rate") != std::string::npos);
}

TEST_CASE("tensorboard log: a folder that takes no file ends no run") {
  Progress progress(2, 1, true);
  TrainingRun run(config_of(2), ablation_named("baseline"));
  TensorboardLog log("/nowhere/at/all", 0, progress);
  CHECK(run.train({&log}) == TrainingRun::Ending::complete);
}
