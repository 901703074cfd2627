// Dot products with stored numbers, which are decoded on the way and kept nowhere.
#pragma once

#include <cstdint>

#include "engine/stored/stored_type.h"

namespace sink {

// sum_i x_i w_i over `count` numbers of whole blocks, in f32: 32 partial sums, of the numbers i with equal i mod 32,
// which are added in halves until one is left; then the numbers behind the last 32.
float dot(StoredType type, const unsigned char* w, const float* x, std::int64_t count);
// The same of decoded numbers: the same bits.
float dot(const float* w, const float* x, std::int64_t count);

}  // namespace sink
