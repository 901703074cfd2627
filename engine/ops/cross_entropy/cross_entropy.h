// Cross-entropy of rows of logits: loss_n = log sum_v exp(logits_nv) - logits_{n, target(n)} in nats; a target of -1 is
// ignored (loss 0, gradient 0).
//
// The gradient (softmax(logits)_nv - [v = target(n)]) gradient_scale overwrites the logits, so that the largest tensor
// of a small model is stored once.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// logits: (N, V); targets: I32 (N) in [-1, V), checked when a batch is made (engine/data/batch.h); loss: (N), F32 (F64
// for F64 logits).
void cross_entropy(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N);
void cross_entropy_to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N);

SINK_BACKENDS(cross_entropy)
SINK_BACKENDS(cross_entropy_to_gradient)

}  // namespace sink
