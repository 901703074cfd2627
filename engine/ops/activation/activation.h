// Elementwise functions, of rows that hold one or two inputs for each output:
//   y_n = f(x_n),              dx_n = dy_n f'(x_n)
//   y_n = F(gate_n) up_n,      dup_n = dy_n F(gate_n), dgate_n = dy_n up_n F'(gate_n)      for f = Glu<F>
#pragma once

#include "engine/ops/activation/activation_math.h"
#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// x and y: one element type (computed in F32 for BF16) and one shape, but x of a Glu (..., 2N), the gates first, for y
// (..., N). Without a Glu, x and y may be one tensor, and so may dy and dx.
template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y, F f = {});
// Of SoftCap, x is its output y.
template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx, F f = {});

SINK_DECLARE_BACKENDS(template <ListedActivationFunction F> void activation(const Tensor& x, Tensor& y, F f))
SINK_DECLARE_BACKENDS(template <ListedActivationFunction F>
                      void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx, F f))

// How many elements of y are a row: all of them where rows mean nothing.
template <class F>
std::int64_t row_width(const Tensor& y) {
  return kInputsOf<F> == 1 ? y.size() : y.dim(-1);
}

#define SINK_COMPILE_ACTIVATION(...)                                          \
  template void activation<__VA_ARGS__>(const Tensor&, Tensor&, __VA_ARGS__); \
  template void activation_backward<__VA_ARGS__>(const Tensor&, const Tensor&, Tensor&, __VA_ARGS__);

}  // namespace sink
