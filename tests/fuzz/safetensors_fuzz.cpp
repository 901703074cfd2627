// Fuzzes read_safetensors and decodes what it accepts: the input itself and, to get deeper into the parser, the input
// as a header with the right length and as many data bytes as it asks for, also as quantized weights.
#include "engine/io/weights/safetensors_json.h"
#include "engine/io/weights/weight_file.h"
#include "model/open/quantized.h"
#include "tests/fuzz/weights_fuzz.h"
#include "tests/support/weight_bytes.h"

using namespace sink;

namespace {

// By the number of tensors as one of the kinds of quantized weights.
WeightFile read_quantized(const std::string& path) {
  WeightFile file = read_safetensors(path);
  const auto kind = static_cast<Quantization::Kind>(file.tensors().size() % 5);
  join_quantized(file, {.kind = kind, .group = 32, .scale_rows = 2, .scale_columns = 32, .zero_less = 1});
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = view_of(data, size);
  read_all(read_safetensors, input);
  read_all(read_quantized, input, 3);
  std::uint64_t end = 0;
  try {
    for (const SafetensorsEntry& entry : parse_safetensors_header(input).entries) end = std::max(end, entry.end);
  } catch (const WeightFailure&) { return 0; }
  if (end >= 100000) return 0;
  const std::string bytes = safetensors_bytes(std::string(input), std::string(end, '\1'));
  read_all(read_safetensors, bytes);
  read_all(read_quantized, bytes, 3);
  return 0;
}
