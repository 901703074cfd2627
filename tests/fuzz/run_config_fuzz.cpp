// Fuzzes the TOML of --config and of checkpoints.
#include "tests/fuzz/fuzz_support.h"
#include "train/run_config.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  may_refuse({Exit::usage}, [&] {
    std::string toml = to_toml(run_config_from_toml(std::string(view_of(data, size)), "fuzz.toml"));
    must(to_toml(run_config_from_toml(toml, "written.toml")) == toml, "settings read back as they were written");
  });
  return 0;
}
