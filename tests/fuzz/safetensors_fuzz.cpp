// Fuzzes read_safetensors and decodes what it accepts: the input itself and, to get deeper into the parser, the input
// as a header with the right length and as many data bytes as it asks for.
#include "engine/io/weights/safetensors_json.h"
#include "engine/io/weights/weight_file.h"
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
