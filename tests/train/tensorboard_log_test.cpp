// A run's event file: one record per step with the values of metrics.jsonl. A folder that cannot be written ends no
// run. The bytes of a record are those that the package `tensorboard` (2.21.0) writes for the same event.
#include "train/tensorboard_log.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

TEST_CASE("tensorboard: the checksum is that of RFC 3720, section B.4") {
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c("") == 0);
}

// RecordWriter of Event(wall_time=12.5, file_version="brain.Event:2"), Event(wall_time=12.5, step=301,
// session_log=SessionLog(status=START)) and Event(wall_time=13.75, step=300, summary=Summary(value=[
// Value(tag="loss/train", simple_value=4.25), Value(tag="sink/sink_1", simple_value=nan)])).
TEST_CASE("tensorboard: records are the package's, byte for byte") {
  CHECK(hex(tensorboard_header(12.5)) ==
        "1800000000000000a37f4b220900000000000029401a0d627261696e2e4576656e743a326394a44f");
  CHECK(hex(tensorboard_start(12.5, 301)) == "100000000000000095fbfe1809000000000000294010ad023a020801c6202a32");
  CHECK(
      hex(tensorboard_scalars(13.75, 300, {{"loss/train", 4.25}, {"sink/sink_1", NAN}})) ==
      "3500000000000000d6c55de6090000000000802b4010ac022a270a110a0a6c6f73732f747261696e15000088400a120a0b73696e6b2f7369"
      "6e6b5f31150000c07fafcafac6");
}

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
