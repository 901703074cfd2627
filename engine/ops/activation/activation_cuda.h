// On the CUDA device: elementwise functions in F32 and BF16, computed in float.
#pragma once

#include "engine/ops/activation/activation_math.h"
#include "engine/tensor.h"

namespace sink::cuda {

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y);
template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx);

}  // namespace sink::cuda
