// The gated unit in double.
#pragma once

#include "engine/ops/activation/activation_math.h"
#include "engine/tensor.h"

namespace sink::ref {

template <ListedActivationFunction Function>
void glu(const Tensor& gate_up, Tensor& y);
template <ListedActivationFunction Function>
void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up);

}  // namespace sink::ref
