#include "engine/ops/cross_entropy/cross_entropy.h"

#include <type_traits>

#include "engine/ops/cross_entropy/cross_entropy_ref.h"
#include "engine/threads.h"

namespace sink {
namespace {

void check(const Tensor& logits_NV, const Tensor& targets_N, const Tensor& loss_N) {
  DType loss_type = logits_NV.dtype() == DType::F64 ? DType::F64 : DType::F32;
  SINK_CHECK(logits_NV.rank() == 2 && targets_N.size() == logits_NV.dim(0) && loss_N.size() == logits_NV.dim(0) &&
                 loss_N.dtype() == loss_type && logits_NV.dim(1) > 0,
             "cross_entropy",
             "one target and one loss a row: logits is " + logits_NV.str() + ", targets is " + targets_N.str() +
                 ", loss is " + loss_N.str());
  const std::int32_t* targets = targets_N.data<std::int32_t>();
  for (std::int64_t n = 0; n < targets_N.size(); ++n)
    SINK_CHECK(-1 <= targets[n] && targets[n] < logits_NV.dim(1), "cross_entropy",
               "target " + std::to_string(targets[n]) + " at place " + std::to_string(n) + " is not in [-1, " +
                   std::to_string(logits_NV.dim(1)) + ")",
               Exit::bad_input);
}

template <class X>
using compute_t = std::conditional_t<std::is_same_v<X, double>, double, float>;

// f(row, type of the logits) over all rows, on all threads.
template <class F>
void for_rows(const Tensor& logits_NV, F&& f) {
  with_real(logits_NV.dtype(), [&](auto zero) {
    parallel_chunks(logits_NV.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) f(n, zero);
    });
  });
}

}  // namespace

void cross_entropy(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N) {
  check(logits_NV, targets_N, loss_N);
  std::int64_t V = logits_NV.dim(1);
  for_rows(logits_NV, [&](std::int64_t n, auto zero) {
    using X = decltype(zero);
    using R = compute_t<X>;
    loss_N.data<R>()[n] =
        ref::cross_entropy_row<R>(n, logits_NV.data<X>() + n * V, targets_N.data<std::int32_t>()[n], V);
  });
}

void cross_entropy_to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N) {
  check(logits_NV, targets_N, loss_N);
  std::int64_t V = logits_NV.dim(1);
  for_rows(logits_NV, [&](std::int64_t n, auto zero) {
    using X = decltype(zero);
    using R = compute_t<X>;
    loss_N.data<R>()[n] = ref::cross_entropy_row_to_gradient<R>(
        n, logits_NV.data<X>() + n * V, targets_N.data<std::int32_t>()[n], static_cast<R>(gradient_scale), V);
  });
}

std::int64_t count_targets(const Tensor& targets_N) {
  std::int64_t count = 0;
  for (std::int64_t n = 0; n < targets_N.size(); ++n) count += targets_N.data<std::int32_t>()[n] >= 0;
  return count;
}

}  // namespace sink
