#include "engine/ops/cross_entropy/cross_entropy_ref.h"

#include <algorithm>
#include <cmath>

namespace sink::ref {
namespace {

// log sum_v exp(logits_v), the largest taken out so that nothing overflows.
double log_sum_exp(const double* logits_V, std::int64_t V) {
  double m = logits_V[0], S = 0;
  for (std::int64_t v = 0; v < V; ++v) m = std::max(m, logits_V[v]);
  for (std::int64_t v = 0; v < V; ++v) S += std::exp(logits_V[v] - m);
  return m + std::log(S);
}

}  // namespace

// Landmark for the debugger: the loss of row n.
[[gnu::noinline]] double cross_entropy_row([[maybe_unused]] std::int64_t n, const double* logits_V, std::int32_t target,
                                           std::int64_t V) {
  if (target < 0) return 0;
  return log_sum_exp(logits_V, V) - logits_V[target];
}

void cross_entropy(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N) {
  std::int64_t V = logits_NV.dim(1);
  for (std::int64_t n = 0; n < logits_NV.dim(0); ++n)
    loss_N.data<double>()[n] =
        cross_entropy_row(n, logits_NV.data<double>() + n * V, targets_N.data<std::int32_t>()[n], V);
}

// dlogits_v = (softmax(logits)_v - [v = target]) gradient_scale
void cross_entropy_to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N) {
  cross_entropy(logits_NV, targets_N, loss_N);
  std::int64_t V = logits_NV.dim(1);
  for (std::int64_t n = 0; n < logits_NV.dim(0); ++n) {
    double* logits_V = logits_NV.data<double>() + n * V;
    std::int32_t target = targets_N.data<std::int32_t>()[n];
    double log_sum = log_sum_exp(logits_V, V);
    for (std::int64_t v = 0; v < V; ++v)
      logits_V[v] = target < 0 ? 0 : (std::exp(logits_V[v] - log_sum) - (v == target ? 1 : 0)) * gradient_scale;
  }
}

}  // namespace sink::ref
