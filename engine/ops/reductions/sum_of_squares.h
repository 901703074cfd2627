// sum_i x_i^2 in double, for the global gradient norm. Results do not depend on the number of threads. The CUDA device
// squares and sums blocks in float first; squares beyond its range make the sum infinite.
#pragma once

#include <vector>

#include "engine/ops/backends.h"
#include "engine/segment.h"
#include "engine/tensor.h"

namespace sink {

// Over the elements of x in `segments`; each is summed separately and then added in order. sum: F64, one element.
void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum);

SINK_BACKENDS(sum_of_squares)

}  // namespace sink
