// y = factor (sum_i x_i) / divisor, summed in double and in order (on the CUDA device blocks in float first): the mean
// loss of a batch from the losses of its rows.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// y: one element, of any real type.
void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y);

SINK_BACKENDS(scaled_sum)

}  // namespace sink
