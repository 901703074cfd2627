// Fuzzes the report's reader: a run folder whose files are the input, cut at zero bytes into evaluation.json,
// metrics.jsonl, config.toml and interventions.json.
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_support.h"
#include "tools/report/run_reader.h"

using namespace sink;

namespace {

// In memory where the system has such a place.
const std::string& folder() {
  static const std::string& path = *new std::string([] {  // outlives the clearing at the end
    std::error_code error;
    std::string base = std::filesystem::is_directory("/dev/shm", error) ? "/dev/shm" : "/tmp";
    std::string made = base + "/sinklab-fuzz-" + std::to_string(::getpid());
    std::filesystem::create_directories(made);
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(folder(), ignored);
    });
    return made;
  }());
  return path;
}

void put(const char* name, std::string_view bytes) {
  std::string path = folder() + "/" + name;
  if (bytes.empty()) {
    ::unlink(path.c_str());
    return;
  }
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = view_of(data, size);
  for (const char* name : {"evaluation.json", "metrics.jsonl", "config.toml", "interventions.json"}) {
    std::string_view part = rest.substr(0, rest.find('\0'));
    put(name, part);
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  }
  may_refuse({Exit::bad_input}, [&] { report::read_run_folder(folder()); });
  return 0;
}
