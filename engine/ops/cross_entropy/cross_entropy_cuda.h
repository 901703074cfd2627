// On the CUDA device: cross-entropy of F32 and BF16 logits, computed in float.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void cross_entropy(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N);
void cross_entropy_to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N);

}  // namespace sink::cuda
