// The sum of squares of a tensor that ranks may have in parts, for the global gradient norm: pieces of kSquaresPiece
// numbers are summed alone, wherever they are, and their sums are added in one order. So the bits do not depend on who
// has which pieces, nor on the number of threads. On the CUDA device the squares of a piece are summed in float, and
// those beyond its range make the sum infinite.
#pragma once

#include <vector>

#include "engine/ops/backends.h"
#include "engine/segment.h"
#include "engine/tensor.h"

namespace sink {

inline constexpr std::int64_t kSquaresPiece = 4096;

// sums[p] = sum of x_i^2 over piece p; x has whole pieces, sums is F64 (P).
void partial_squared_norms(const Tensor& x, Tensor& sums);

// sum = the sums of sums over `sections`, each summed alone and then in order; zeros at the end of a section
// change nothing. F64 of one element.
void sum_pieces(const Tensor& sums, const std::vector<Segment>& sections, Tensor& sum);

SINK_BACKENDS(partial_squared_norms)
SINK_BACKENDS(sum_pieces)

}  // namespace sink
