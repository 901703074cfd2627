// Fuzzes read_token_sequences, text and HDF5.
#include "eval/token_sequences.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/fuzz/hdf5_fuzz.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzFile on_disk(view_of(data, size));
  may_refuse({Exit::bad_input}, [&] {
    Tensor tokens_NT = read_token_sequences(on_disk.path(), 100, 64);
    must(tokens_NT.rank() == 2 && tokens_NT.dim(1) >= 2 && tokens_NT.dim(1) <= 64, "N sequences of 2 to 64");
    for (std::int64_t i = 0; i < tokens_NT.size(); ++i)
      must(tokens_NT.data<std::int32_t>()[i] >= 0 && tokens_NT.data<std::int32_t>()[i] < 100, "ids below 100");
  });
  return 0;
}
