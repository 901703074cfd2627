// On the CUDA device: the gated unit in F32 and BF16, computed in float.
#pragma once

#include "engine/ops/activation/activation_math.h"
#include "engine/tensor.h"

namespace sink::cuda {

template <ListedActivationFunction Function>
void glu(const Tensor& gate_up, Tensor& y);
template <ListedActivationFunction Function>
void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up);

}  // namespace sink::cuda
