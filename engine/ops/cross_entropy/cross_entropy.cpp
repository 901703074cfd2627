#include "engine/ops/cross_entropy/cross_entropy.h"

#include "engine/implementation.h"
#include "engine/ops/cross_entropy/cross_entropy_cpu.h"
#include "engine/ops/cross_entropy/cross_entropy_cuda.h"
#include "engine/ops/cross_entropy/cross_entropy_ref.h"

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
