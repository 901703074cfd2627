// y = f(x), element by element, or of the gates and values of a gated unit.
#pragma once

#include "autograd/record.h"
#include "engine/ops/activation/activation.h"

namespace sink {

template <ListedActivationFunction F>
struct ActivationNode {
  Var x;

  static constexpr const char* name = kInputsOf<F> == 1 ? "activation" : "glu";
  void backward(const Tensor& dy) {
    Tensor dx = Tensor::empty_like(x.value());
    activation_backward<F>(dy, x.value(), dx);
    x.gradient().accumulate(std::move(dx));
  }
};

template <ListedActivationFunction F>
Var activate(const Var& x) {
  Shape shape = x.value().shape();
  if (kInputsOf < F >> 1) shape[-1] /= kInputsOf<F>;
  Tensor y = x.value().new_empty(shape, x.value().dtype());
  activation<F>(x.value(), y);
  return record<ActivationNode<F>>(y, x);
}

}  // namespace sink
