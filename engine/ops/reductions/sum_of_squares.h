// sum_i x_i^2 in double, for the global gradient norm. The same bits for any number of threads. The CUDA device squares
// and sums blocks in float first, so there squares beyond its range make the sum infinite.
#pragma once

#include <vector>

#include "engine/ops/backends.h"
#include "engine/segment.h"
#include "engine/tensor.h"

namespace sink {

// Over the numbers of x in `segments`, each summed alone and then in order; sum: F64, of one element.
void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum);

SINK_BACKENDS(sum_of_squares)

}  // namespace sink
