// Softmax over the k largest of every row's E numbers, 0 for the others: what a mixture of experts weighs those with
// that a router chose (Shazeer et al. 2017, with the softmax behind the choice; gpt-oss 2025).
//   p_e = exp(x_e) / sum over the chosen of exp(x_j).
//
// Of equal numbers the first is chosen. Backward: dx_e = p_e (dp_e - sum_j p_j dp_j), which is 0 for the others.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// x, p: (..., E), one element type (computed in F32 for BF16); 1 <= k <= E.
void top_softmax(const Tensor& x, std::int64_t k, Tensor& p);
void top_softmax_backward(const Tensor& dp, const Tensor& p, Tensor& dx);

SINK_BACKENDS(top_softmax)
SINK_BACKENDS(top_softmax_backward)

}  // namespace sink
