// Elementwise function: y = f(x); backward: dx = dy f'(x).
#pragma once

#include "engine/ops/activation/activation_math.h"
#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// x and y: one shape and element type (computed in F32 for BF16).
template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y);
template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx);

SINK_DECLARE_BACKENDS(template <ListedActivationFunction F> void activation(const Tensor& x, Tensor& y))
SINK_DECLARE_BACKENDS(template <ListedActivationFunction F>
                      void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx))

}  // namespace sink
