// The element types of weights in files: plain values, and quantised blocks of values with shared scales; decoding
// them.
#pragma once

#include <cstdint>

namespace sink {

enum class StoredType : std::uint8_t {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  U8,
  Bool,
  F8_E4M3,
  // Blocks of ggml (stored_blocks.h).
  Q8_0,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q4_K,
  Q5_K,
  Q6_K,
  Q2_K,
  Q3_K,
  IQ4_NL,
  IQ4_XS,
  MXFP4,
  TQ1_0,
  TQ2_0,
  // Blocks of folders for transformers (stored_blocks.h).
  Scaled4,
  ScaledF8,
};

struct StoredLayout {
  const char* name;
  int elements;  // of a block; 1: a plain type
  int bytes;     // of a block
};

inline constexpr StoredLayout kStoredLayouts[] = {
    {"F64", 1, 8},      {"F32", 1, 4},      {"F16", 1, 2},        {"BF16", 1, 2},     {"I64", 1, 8},
    {"I32", 1, 4},      {"I16", 1, 2},      {"I8", 1, 1},         {"U8", 1, 1},       {"BOOL", 1, 1},
    {"F8_E4M3", 1, 1},  {"Q8_0", 32, 34},   {"Q4_0", 32, 18},     {"Q4_1", 32, 20},   {"Q5_0", 32, 22},
    {"Q5_1", 32, 24},   {"Q4_K", 256, 144}, {"Q5_K", 256, 176},   {"Q6_K", 256, 210}, {"Q2_K", 256, 84},
    {"Q3_K", 256, 110}, {"IQ4_NL", 32, 18}, {"IQ4_XS", 256, 136}, {"MXFP4", 32, 17},  {"TQ1_0", 256, 54},
    {"TQ2_0", 256, 66}, {"INT4", 32, 24},   {"FP8", 32, 36},
};
constexpr const StoredLayout& layout_of(StoredType type) { return kStoredLayouts[static_cast<int>(type)]; }
static_assert(layout_of(StoredType::ScaledF8).bytes == 36);

// `count` elements in whole blocks, each rounded to f32 once (F64, I64, I32 and the sums in blocks; others are exact).
void decode(StoredType type, const unsigned char* from, std::int64_t count, float* out);
// The same; F64 is not rounded.
void decode(StoredType type, const unsigned char* from, std::int64_t count, double* out);

// sum_i x_i w_i over `count` elements in whole blocks, in f32: 32 partial sums of the elements with equal i mod 32,
// which are added in halves until one is left; then the elements after the last 32.
float dot(StoredType type, const unsigned char* w, const float* x, std::int64_t count);
// The same with decoded weights; the bits are the same.
float dot(const float* w, const float* x, std::int64_t count);

// The first of `count` elements, in whole blocks, that decode() would make NaN or infinite; -1: all are finite. Next to
// nothing is decoded: a value is not finite where all exponent bits are set, and a block where its scale or minimum is
// not (f16 cannot overflow in f32; only the largest scales of MXFP4 can). An F64 beyond the range of f32 counts as
// infinite.
std::int64_t first_not_finite(StoredType type, const unsigned char* from, std::int64_t count);

}  // namespace sink
