// y = the causal convolution of every channel with its own weights.
#pragma once

#include "autograd/parameter.h"
#include "autograd/record.h"
#include "engine/ops/short_convolution/short_convolution.h"

namespace sink {

struct ShortConvolutionNode {
  Var x_BTE;
  const Parameter* w_EK;

  static constexpr const char* name = "short_convolution";
  void backward(const Tensor& dy) {
    Tensor dx = Tensor::empty_like(x_BTE.value());
    auto [dw, accumulate] = w_EK->var().gradient().target();
    short_convolution_backward(dy, x_BTE.value(), w_EK->master(), dx, dw, accumulate);
    if (x_BTE.requires_grad()) x_BTE.gradient().accumulate(std::move(dx));
  }
};

// `before`: the rows before x, through which no gradient passes; undefined: zeros.
inline Var short_convolution(const Var& x_BTE, const Tensor& before_BTE, const Parameter& w_EK) {
  Tensor y = Tensor::empty_like(x_BTE.value());
  short_convolution(x_BTE.value(), before_BTE, w_EK.master(), y);
  return record<ShortConvolutionNode>(y, x_BTE, &w_EK);
}

}  // namespace sink
