// On the CUDA device: F32 and BF16, computed in float, an expert of a row on each thread.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void expert_glu(const Tensor& gate_up, const Tensor& p, Tensor& y);
void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, Tensor& dgate_up, Tensor& dp);

}  // namespace sink::cuda
