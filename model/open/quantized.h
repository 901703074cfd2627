// Quantized weights in folders for transformers: what config.json says of them, and their tensors as blocks.
//
//   kind      tensors of a matrix (N, K)                                     weight
//   mxfp4     _blocks (.., N, K / 32, 16), _scales (.., N, K / 32), both u8  2^(scale - 127) E2M1
//   fp8, and  .weight (N, K) F8_E4M3, .weight_scale_inv or                   scale E4M3
//     packed    .weight_scale (by blocks; (N); or one)
//   gptq      .qweight (K / 8, N), .qzeros (g, N / 8), .scales (g, N),       scale (code - zero)
//               .g_idx (K)
//   awq       .qweight (K, N / 8), .qzeros (g, N / 8), .scales (g, N)        scale (code - zero)
//   packed    .weight_packed (N, K / 8), .weight_scale (N, g),               scale (code - 8)
//               .weight_shape (2)
//
// packed: compressed-tensors. g: groups of a row. Words are i32, with code i of eight in bits 4 i to 4 i + 3; AWQ's
// words have the codes of columns 0 2 4 6 1 3 5 7. All weights are exact in F32 where scales have 16 bits, but those of
// FP8, whose product is rounded once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/io/weights/weight_file.h"
#include "model/open/config_json.h"

namespace sink {

struct Quantization {
  enum class Kind { mxfp4, fp8, gptq, awq, packed };
  Kind kind = Kind::mxfp4;
  std::int64_t group = 0;                          // elements of a row that share a scale; -1: the row
  std::int64_t scale_rows = 0, scale_columns = 0;  // of FP8, elements that share a scale; 0: as the scales' shape says
  std::int64_t zero = 0, zero_less = 0;            // of GPTQ, the zero of all or 0; what files store zeros less
  bool rounds_inputs = false;                      // the model is meant to round inputs of products, too
};

// Of config.json; none if its weights are not quantized. Throws Error (Exit::corrupt_checkpoint), naming the kind, for
// those that are not read.
std::optional<Quantization> quantization_of(const ConfigJson& json);

// Puts a tensor of blocks, named as the weight that it is, in the place of those above; it is a copy in memory. Throws
// Error (Exit::corrupt_checkpoint), naming the tensor, where they do not fit each other.
void join_quantized(WeightFile& file, const Quantization& how);

}  // namespace sink
