// Causal convolution of every channel with its own K weights, of which the last acts on the token itself:
//   y_te = sum over k < K of w_ek x_{t-K+1+k, e}.
// Tokens before the first are rows of `before`, or zero (the short convolution of Yang et al. 2024, DeltaNet).
//
// Backward: dx_te = sum_k w_ek dy_{t+K-1-k, e}, dw_ek = sum over b and t of dy_te x_{t-K+1+k, e}.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// x, y: (B, T, E), one type (computed in F32 for BF16); before: the K - 1 rows before x, (B, K - 1, E), or undefined
// for zeros; w_EK: F32, or F64 for F64.
void short_convolution(const Tensor& x_BTE, const Tensor& before_BTE, const Tensor& w_EK, Tensor& y_BTE);
// Without rows before x. dw is like w, and added to where `accumulate` is set.
void short_convolution_backward(const Tensor& dy_BTE, const Tensor& x_BTE, const Tensor& w_EK, Tensor& dx_BTE,
                                Tensor& dw_EK, bool accumulate);

SINK_BACKENDS(short_convolution)
SINK_BACKENDS(short_convolution_backward)

}  // namespace sink
