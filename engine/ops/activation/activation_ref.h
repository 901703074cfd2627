// Elementwise functions in double.
#pragma once

#include "engine/ops/activation/activation_math.h"
#include "engine/tensor.h"

namespace sink::ref {

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y);
template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx);

}  // namespace sink::ref
