// y = factor (sum_i x_i) / divisor, for the mean loss of a batch. Summed in double and in order; the CUDA device sums
// blocks in float first.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// y: one element, of any real type.
void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y);

SINK_BACKENDS(scaled_sum)

}  // namespace sink
