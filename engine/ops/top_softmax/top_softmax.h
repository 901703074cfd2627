// Softmax over the k largest of the E elements of every row, 0 for the others: the weights of the experts that a router
// chose (gpt-oss 2025).
//   p_e = exp(x_e) / sum over the chosen of exp(x_j).
//
// Where the softmax comes before the choice (Shazeer et al. 2017; OLMoE 2024), s is that over all E and
// p = keep_largest(s).
//
// Of equal elements the first is chosen. Backward: dx_e = p_e dp_e - s_e sum_j p_j dp_j, where s is p if the softmax is
// over the chosen.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// x, p, s: (..., E), one element type (computed in F32 for BF16); 1 <= k <= E.
void top_softmax(const Tensor& x, std::int64_t k, Tensor& p);
void keep_largest(const Tensor& s, std::int64_t k, Tensor& p);  // p_e = s_e of the k largest, 0 of the others
void top_softmax_backward(const Tensor& dp, const Tensor& p, const Tensor& s, Tensor& dx);

SINK_BACKENDS(top_softmax)
SINK_BACKENDS(keep_largest)
SINK_BACKENDS(top_softmax_backward)

}  // namespace sink
