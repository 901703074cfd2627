// Fuzzes read_gguf, and decodes what it accepts.
#include "engine/io/weights/weight_file.h"
#include "tests/fuzz/weights_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sink::read_all(sink::read_gguf, sink::view_of(data, size));
  return 0;
}
