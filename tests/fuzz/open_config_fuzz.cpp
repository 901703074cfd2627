// Fuzzes what models of other programs say of themselves: config.json, and the metadata of GGUF files.
#include "engine/io/weights/weight_file.h"
#include "model/open/open_config.h"
#include "tests/fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sink;
  const std::string_view bytes = view_of(data, size);
  const FuzzFile on_disk(bytes);
  may_refuse({Exit::corrupt_checkpoint}, [&] {
    const OpenConfig config =
        bytes.starts_with("GGUF") ? read_gguf_config(read_gguf(on_disk.path())) : read_hf_config(on_disk.path());
    must(!config.family.empty(), "a family");
  });
  return 0;
}
