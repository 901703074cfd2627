// Statistics of each row x of D elements, for the study of massive activations:
//   length     |x|
//   kurtosis   E[(x - mean)^4] / E[(x - mean)^2]^2: 3 for a normal distribution, about D for a single outlier
//              among D elements
//              (Kaul et al. 2025), 0 for equal elements
//   largest    max_d |x_d|, without the NaNs
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// x: (..., D), D > 0; statistics: F64 (3, x.size() / D), in the order above.
void row_statistics(const Tensor& x, Tensor& statistics_3N);

SINK_BACKENDS(row_statistics)

}  // namespace sink
