// The squared norm of a tensor whose shards are on several ranks, for the global gradient norm. Blocks of
// kSquaredNormBlock elements are summed separately and their sums are added in a fixed order, so the result depends
// neither on which rank has which blocks nor on the number of threads. The CUDA device sums a block in float; squares
// beyond its range make the sum infinite.
#pragma once

#include <vector>

#include "engine/ops/backends.h"
#include "engine/segment.h"
#include "engine/tensor.h"

namespace sink {

inline constexpr std::int64_t kSquaredNormBlock = 4096;

// sums[p] = sum of x_i^2 over block p; x has whole blocks; sums: F64 (P).
void partial_squared_norms(const Tensor& x, Tensor& sums);

// sum = the total over `ranges` of sums; each range is summed separately and then added in order, so zeros at the end
// of a range change nothing. sum: F64, one element.
void sum_squared_norms(const Tensor& sums, const std::vector<Segment>& ranges, Tensor& sum);

SINK_BACKENDS(partial_squared_norms)
SINK_BACKENDS(sum_squared_norms)

}  // namespace sink
