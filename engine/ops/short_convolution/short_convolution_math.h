// Elements of the short convolution and of its gradients. R: float or double, the type of the sums.
#pragma once

#include <cstdint>

#include "engine/dtype.h"

namespace sink {

// The operands: x (B, T, E) or dy, `before` (B, K - 1, E) or null, w (E, K).
template <class R, class X>
struct ConvolutionOperands {
  const X *x, *before;
  const R* w;
  std::int64_t T, E, K;

  // Token t of sequence b, negative for those before the first; null where there is none.
  SINK_HD const X* row(std::int64_t b, std::int64_t t) const {
    if (t >= 0) return t < T ? x + (b * T + t) * E : nullptr;
    return before ? before + (b * (K - 1) + K - 1 + t) * E : nullptr;
  }
  // The token that weight k acts on for y_t, or with the dy in place of x and `reverse` for dx_t.
  SINK_HD std::int64_t token(std::int64_t t, std::int64_t k, bool reverse) const {
    return reverse ? t + K - 1 - k : t - K + 1 + k;
  }
  // y_te, or dx_te.
  SINK_HD R sum(std::int64_t b, std::int64_t t, std::int64_t e, bool reverse) const {
    R sum = 0;
    for (std::int64_t k = 0; k < K; ++k)
      if (const X* x_E = row(b, token(t, k, reverse))) sum += w[e * K + k] * R(x_E[e]);
    return sum;
  }
};

// dw_ek of B sequences.
template <class R, class X>
SINK_HD R weight_gradient(const ConvolutionOperands<R, X>& operands, const X* dy, std::int64_t B, std::int64_t e,
                          std::int64_t k) {
  const std::int64_t T = operands.T, E = operands.E;
  R sum = 0;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T; ++t)
      if (const X* x_E = operands.row(b, operands.token(t, k, /*reverse=*/false)))
        sum += R(dy[(b * T + t) * E + e]) * R(x_E[e]);
  return sum;
}

}  // namespace sink
