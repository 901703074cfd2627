// Softmax over the k largest of the E elements of every row, 0 for the others: the weights of the experts that a router
// chose (Shazeer et al. 2017, but with the softmax after the choice; gpt-oss 2025).
//   p_e = exp(x_e) / sum over the chosen of exp(x_j).
//
// Of equal elements the first is chosen. Backward: dx_e = p_e (dp_e - sum_j p_j dp_j), which is 0 for the others.
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
