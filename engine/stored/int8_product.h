// y = x W^T in integers, for `--precision int8`: x is rounded to 8 bits, and weights are multiplied as the codes that
// they are in the file.
//
// The rounding: each 32 elements of a row of x share a scale d = max |x| / 127 in f32, and q = x * (127 / max |x|),
// rounded to nearest, ties to even; x is then d q. (llama.cpp's q8_0 rounds d to f16, too, and its q8_K, for k-quants,
// has one d for 256 elements.) A block whose largest magnitude is below 2^-100 is 0; one with a NaN or an infinity
// makes y NaN.
//
// A weight is scale * (code - offset) + minimum, in groups of 32 (Q6_K: 16). For each group in order
//   y = fma(scale, d * float(sum of q (code - offset)), y);  y = fma(minimum, d * float(sum of q), y)
// where sums of integers are exact and all else is f32. So y has the same bits for any number of rows and of threads,
// and for both kernels: int8_vnni.h for AVX-512 with VNNI, and int8_portable.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/stored/stored_matrix.h"

namespace sink {

inline constexpr int kInt8Columns = 256;  // of an Int8Block

// 256 columns of one row of x.
struct alignas(64) Int8Block {
  std::int8_t codes[kInt8Columns];
  float scales[8], sums[8];  // d, and d times the sum of q
  std::int32_t starts[16];   // -offset times the sum of q, of each group of the weights
};

// x for weights of one type.
struct Int8Input {
  StoredType type;
  std::int64_t rows, columns;
  std::unique_ptr<Int8Block[]> blocks;  // of all rows for each 256 columns; what is after the last column is not set
};

bool has_int8(StoredType type);
std::string int8_types();  // "Q8_0, Q4_0, ..."
// Of lines that are whole rows, too.
bool has_int8(const StoredPart& part);

// `columns` is a multiple of the type's block.
Int8Input round_to_int8(StoredType type, const float* x, std::int64_t rows, std::int64_t columns);

// y[m * stride + n] = x_m . w_(first + n) for n < count, on all threads.
void int8_product(const Int8Input& x, const StoredPart& part, std::int64_t first, std::int64_t count, float* y,
                  std::int64_t stride);

}  // namespace sink
