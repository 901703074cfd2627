// Dot products with k-quants, whose weights are scale * code - minimum in groups: for each group
// scale * sum code x - minimum * sum x, so that a weight costs one multiplication and no group is decoded.
#pragma once

#include <cstdint>

#include "engine/stored/stored_type.h"

namespace sink {

// Of Q4_K, Q5_K, Q6_K, Q2_K and Q3_K where the processor has AVX-512. With shorter vectors dot() is faster.
bool has_groups(StoredType type);

// Floats of a prepared input of `columns` elements, in whole blocks.
constexpr std::int64_t grouped_size(std::int64_t columns) { return columns / 256 * 272; }

// Prepares x for grouped_dot: of every 256 elements those 256 in the order of the type's codes, and 16 sums, which the
// minima multiply.
void group_input(StoredType type, const float* x, std::int64_t columns, float* grouped);

// sum_i x_i w_i in f32 for each of `rows` rows w. Sixteen lanes each sum the terms of sixteen codes before their scale
// multiplies them; the lanes are added in halves at the end. The order depends on the type alone.
void grouped_dots(StoredType type, const unsigned char* const* lines, std::int64_t rows, const float* grouped,
                  std::int64_t columns, float* sums);

}  // namespace sink
