// Reference: cross-entropy in double.
#include "engine/ops/cross_entropy/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/reference_row.h"

namespace sink::ref {
namespace {

// sum_v exp(logits_v - m), m being the largest logit, so that nothing overflows: log sum_v exp(logits_v) = m + log S.
double sum_of_exp(Row logits_V, double m) {
  double S = 0;
  for (double logit : logits_V) S += std::exp(logit - m);
  return S;
}

}  // namespace

// Breakpoint function: the loss of row n, -log p_target, p = softmax(logits). 0 without a target (-1).
[[gnu::noinline]] double cross_entropy_row([[maybe_unused]] std::int64_t n, Row logits_V, std::int32_t target) {
  if (target < 0) return 0;
  double m = std::ranges::max(logits_V), S = sum_of_exp(logits_V, m);
  double loss = m + std::log(S) - logits_V[static_cast<std::size_t>(target)];
  return loss;
}

// Of row n in place: dlogits_v = (p_v - [v = target]) gradient_scale, 0 without a target.
[[gnu::noinline]] void cross_entropy_row_backward([[maybe_unused]] std::int64_t n, std::span<double> logits_V,
                                                  std::int32_t target, double gradient_scale) {
  double m = std::ranges::max(logits_V), S = sum_of_exp(logits_V, m);
  for (double& logit : logits_V) logit = target < 0 ? 0 : std::exp(logit - m) / S * gradient_scale;
  if (target >= 0) logits_V[static_cast<std::size_t>(target)] -= gradient_scale;
}

void cross_entropy(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N) {
  std::int64_t V = logits_NV.dim(1);
  for (std::int64_t n = 0; n < logits_NV.dim(0); ++n)
    loss_N.data<double>()[n] = cross_entropy_row(n, row_of(logits_NV, n, V), targets_N.data<std::int32_t>()[n]);
}

void cross_entropy_to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N) {
  ref::cross_entropy(logits_NV, targets_N, loss_N);
  std::int64_t V = logits_NV.dim(1);
  for (std::int64_t n = 0; n < logits_NV.dim(0); ++n)
    cross_entropy_row_backward(n, row_of(logits_NV, n, V), targets_N.data<std::int32_t>()[n], gradient_scale);
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

void check_cross_entropy(const Tensor& logits_NV, const Tensor& targets_N, const Tensor& loss_N) {
  SINK_CHECK(logits_NV.rank() == 2 && targets_N.size() == logits_NV.dim(0) && loss_N.size() == logits_NV.dim(0) &&
                 loss_N.dtype() == accumulate_type(logits_NV.dtype()) && logits_NV.dim(1) > 0,
             "cross_entropy",
             "expected one target and one loss per row: logits is " + logits_NV.str() + ", targets is " +
                 targets_N.str() + ", loss is " + loss_N.str());
}

}  // namespace

void cross_entropy(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N) {
  check_cross_entropy(logits_NV, targets_N, loss_N);
  SINK_SELECT(logits_NV, cross_entropy)(logits_NV, targets_N, loss_N);
}

void cross_entropy_to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N) {
  check_cross_entropy(logits_NV, targets_N, loss_N);
  SINK_SELECT(logits_NV, cross_entropy_to_gradient)(logits_NV, targets_N, gradient_scale, loss_N);
}

}  // namespace sink
