// Cross-entropy, one row at a time; `R` is the type to compute in.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/dtype.h"
#include "engine/vector_math.h"

namespace sink::ref {

template <class R>
struct LogSumExp {
  R m;  // row maximum
  R S;  // sum_v exp(logits_v - m)
};

template <class R, class X>
LogSumExp<R> log_sum_exp_row(const X* logits_V, std::int64_t V) {
  R m = R(logits_V[0]);
#pragma omp simd reduction(max : m)
  for (std::int64_t v = 0; v < V; ++v) m = R(logits_V[v]) > m ? R(logits_V[v]) : m;
  R S = 0;
#pragma omp simd reduction(+ : S)
  for (std::int64_t v = 0; v < V; ++v) S += exp_fast(R(logits_V[v]) - m);
  return {m, S};
}

// Landmark for the debugger: the loss of row n.
template <class R, class X>
[[gnu::noinline]] R cross_entropy_row([[maybe_unused]] std::int64_t n, const X* logits_V, std::int32_t target,
                                      std::int64_t V) {
  if (target < 0) return 0;
  auto [m, S] = log_sum_exp_row<R>(logits_V, V);
  return m + std::log(S) - R(logits_V[target]);
}

// The loss of row n; the row of logits becomes its gradient, p_v - [v = target] times gradient_scale.
template <class R, class X>
[[gnu::noinline]] R cross_entropy_row_to_gradient([[maybe_unused]] std::int64_t n, X* logits_V, std::int32_t target,
                                                  R gradient_scale, std::int64_t V) {
  if (target < 0) {
    for (std::int64_t v = 0; v < V; ++v) store(logits_V[v], R(0));
    return 0;
  }
  auto [m, S] = log_sum_exp_row<R>(logits_V, V);
  R logit = R(logits_V[target]);
  R p_scale = gradient_scale / S;
#pragma omp simd
  for (std::int64_t v = 0; v < V; ++v) store(logits_V[v], exp_fast(R(logits_V[v]) - m) * p_scale);
  R p_target = exp_fast(logit - m) * p_scale;  // again from the logit: the stored one may be rounded to bf16
  store(logits_V[target], p_target - gradient_scale);
  return m + std::log(S) - logit;
}

}  // namespace sink::ref
