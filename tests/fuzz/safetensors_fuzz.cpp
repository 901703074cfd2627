// Fuzzes read_safetensors and decodes what it accepts; the input as it is, and, so that a parser sees more of it, as a
// header whose length is right and as many numbers as make the file whole.
#include "engine/io/weights/safetensors.h"
#include "engine/io/weights/safetensors_header.h"
#include "tests/fuzz/weights_fuzz.h"
#include "tests/support/weight_bytes.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = view_of(data, size);
  read_all(read_safetensors, input);
  std::uint64_t end = 0;
  try {
    for (const SafetensorsEntry& entry : parse_safetensors_header(input).entries) end = std::max(end, entry.end);
  } catch (const WeightFailure&) { return 0; }
  if (end < 100000) read_all(read_safetensors, safetensors_bytes(std::string(input), std::string(end, '\1')));
  return 0;
}
