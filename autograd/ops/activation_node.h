// y = f(x), element by element.
#pragma once

#include "autograd/record.h"
#include "engine/ops/activation/activation.h"

namespace sink {

template <ListedActivationFunction F>
struct ActivationNode {
  Var x;

  static constexpr const char* name = "activation";
  void backward(const Tensor& dy) {
    Tensor dx = Tensor::empty_like(x.value());
    activation_backward<F>(dy, x.value(), dx);
    x.gradient().accumulate(std::move(dx));
  }
};

template <ListedActivationFunction F>
Var activate(const Var& x) {
  Tensor y = Tensor::empty_like(x.value());
  activation<F>(x.value(), y);
  return record<ActivationNode<F>>(y, x);
}

}  // namespace sink
