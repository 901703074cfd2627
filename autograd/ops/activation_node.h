// y = f(x), element by element.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/activation/activation.h"

namespace sink {

template <ListedActivationFunction F>
struct ActivationNode : Node {
  Var x;

  const char* name() const override { return "activation"; }
  void backward() override {
    Tensor dx = Tensor::empty_like(x.value());
    activation_backward<F>(output_grad(), x.value(), dx);
    x.gradient().accumulate(std::move(dx));
  }
};

template <ListedActivationFunction F>
Var activate(const Var& x) {
  Tensor y = Tensor::empty_like(x.value());
  activation<F>(x.value(), y);
  Tape* tape = Tape::recording(x);
  Var output(std::move(y), tape);
  if (tape) tape->add<ActivationNode<F>>(output).x = x;
  return output;
}

}  // namespace sink
