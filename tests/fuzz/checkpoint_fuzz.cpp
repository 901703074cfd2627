// Fuzzes load_checkpoint. The input follows the checksum header; a matching header is put before it, so that HDF5's
// side is reached, unless the first byte is odd: then the input is the file.
#include "engine/io/checkpoint.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/fuzz/hdf5_fuzz.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view rest = view_of(data + 1, size - 1);
  std::string file =
      data[0] & 1 ? std::string(rest) : make_checksum_header(kCheckpointFormat, rest.data(), rest.size()).append(rest);
  FuzzFile on_disk(file);
  may_refuse({Exit::corrupt_checkpoint}, [&] {
    Checkpoint checkpoint = load_checkpoint(on_disk.path());
    std::size_t bytes = 0;
    for (const auto& [path, tensor] : checkpoint.tensors) bytes += tensor.bytes();
    for (const auto& [name, text] : checkpoint.attributes) bytes += text.size();
    must(bytes <= 2 * file.size(), "a checkpoint is no larger than its file");
  });
  return 0;
}
