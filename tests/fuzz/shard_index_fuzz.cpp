// Fuzzes parse_shard_index, the reader of model.safetensors.index.json.
#include "engine/io/weights/byte_reader.h"
#include "engine/io/weights/safetensors_json.h"
#include "tests/fuzz/fuzz_support.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    ShardIndex index = parse_shard_index(view_of(data, size));
    for (std::size_t i = 0; i < index.files.size(); ++i) {
      const auto& [name, file] = index.files[i];
      must(i == 0 || index.files[i - 1].first < name, "names are sorted, each once");
      must(!file.empty() && file[0] != '.' && file.find('/') == std::string::npos &&
               file.find('\0') == std::string::npos,
           "a file is a plain name");
    }
  } catch (const WeightFailure& failure) { must(printable(failure.what()).size() < 1000, "messages end"); }
  return 0;
}
