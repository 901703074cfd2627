// CPU backend: cross-entropy of F32 and BF16 logits, computed in float.
#include "engine/ops/cross_entropy/cross_entropy.h"

#include <cmath>

#include "engine/threads.h"
#include "engine/vector_math.h"

namespace sink::cpu {
namespace {

struct LogSumExp {
  float m;  // row maximum
  float S;  // sum_v exp(logits_v - m)
};

template <class X>
LogSumExp log_sum_exp(const X* logits_V, std::int64_t V) {
  float m = float(logits_V[0]);
#pragma omp simd reduction(max : m)
  for (std::int64_t v = 0; v < V; ++v) m = float(logits_V[v]) > m ? float(logits_V[v]) : m;
  float S = 0;
#pragma omp simd reduction(+ : S)
  for (std::int64_t v = 0; v < V; ++v) S += exp_fast(float(logits_V[v]) - m);
  return {m, S};
}

template <class X>
[[gnu::noinline]] float row_loss(const X* logits_V, std::int32_t target, std::int64_t V) {
  if (target < 0) return 0;
  auto [m, S] = log_sum_exp(logits_V, V);
  return m + std::log(S) - float(logits_V[target]);
}

// The loss of a row, whose logits become their gradient, p_v - [v = target] times gradient_scale.
template <class X>
[[gnu::noinline]] float row_to_gradient(X* logits_V, std::int32_t target, float gradient_scale, std::int64_t V) {
  if (target < 0) {
    for (std::int64_t v = 0; v < V; ++v) store(logits_V[v], 0.0f);
    return 0;
  }
  LogSumExp row = log_sum_exp(logits_V, V);
  float m = row.m, S = row.S;
  float logit = float(logits_V[target]);
  float p_scale = gradient_scale / S;
#pragma omp simd
  for (std::int64_t v = 0; v < V; ++v) store(logits_V[v], exp_fast(float(logits_V[v]) - m) * p_scale);
  float p_target = exp_fast(logit - m) * p_scale;  // again from the logit: the stored one may be rounded to bf16
  store(logits_V[target], p_target - gradient_scale);
  return m + std::log(S) - logit;
}

// f(row, zero of the logits' type) over all rows, on all threads.
template <class F>
void for_logit_rows(const Tensor& logits_NV, F&& f) {
  with_real<float, bf16>(logits_NV.dtype(), [&](auto zero) {
    parallel_chunks(logits_NV.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) f(n, zero);
    });
  });
}

}  // namespace

void cross_entropy(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N) {
  std::int64_t V = logits_NV.dim(1);
  for_logit_rows(logits_NV, [&](std::int64_t n, auto zero) {
    using X = decltype(zero);
    loss_N.data<float>()[n] = row_loss(logits_NV.data<X>() + n * V, targets_N.data<std::int32_t>()[n], V);
  });
}

void cross_entropy_to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N) {
  std::int64_t V = logits_NV.dim(1);
  for_logit_rows(logits_NV, [&](std::int64_t n, auto zero) {
    using X = decltype(zero);
    loss_N.data<float>()[n] = row_to_gradient(logits_NV.data<X>() + n * V, targets_N.data<std::int32_t>()[n],
                                              static_cast<float>(gradient_scale), V);
  });
}

}  // namespace sink::cpu
