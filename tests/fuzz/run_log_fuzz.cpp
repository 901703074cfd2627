// Fuzzes how a resumed run reads its metrics.jsonl: any file is repaired, and the repaired file is sound.
#include <filesystem>
#include <fstream>

#include "engine/io/file.h"
#include "tests/fuzz/fuzz_support.h"
#include "train/run_log.h"

using namespace sink;

namespace {

namespace fs = std::filesystem;

// A folder of this process, in memory where the system has such a place.
const std::string& folder() {
  static const std::string& path = *new std::string([] {
    std::error_code error;
    std::string made = std::string(fs::is_directory("/dev/shm", error) ? "/dev/shm" : "/tmp") + "/sinklab-fuzz-log-" +
                       std::to_string(::getpid());
    std::atexit([] {
      std::error_code ignored;
      fs::remove_all(folder(), ignored);
    });
    return made;
  }());
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fs::remove_all(folder());
  fs::create_directories(folder());
  std::string path = folder() + "/metrics.jsonl";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  constexpr std::int64_t kStep = 3;
  may_refuse({Exit::io}, [&] {
    std::string first = RunLog(path, kStep).note();
    must(first.size() < 2000, "a note stays short");
    std::string kept = read_file("fuzz", path), second = RunLog(path, kStep).note();
    must(read_file("fuzz", path) == kept, "a repaired log stays as it is");
    must(second.find("repaired") == std::string::npos, "a repaired log needs no repair");
  });
  return 0;
}
