// y = F(gate) up, gate and up side by side in the input.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/glu/glu.h"

namespace sink {

template <ListedActivationFunction F>
struct GluNode : Node {
  Var gate_up;

  const char* name() const override { return "glu"; }
  void backward() override {
    Tensor dgate_up = Tensor::empty_like(gate_up.value());
    glu_backward<F>(output_grad(), gate_up.value(), dgate_up);
    gate_up.gradient().accumulate(std::move(dgate_up));
  }
};

template <ListedActivationFunction F>
Var glu(const Var& gate_up) {
  Shape shape = gate_up.value().shape();
  shape[-1] /= 2;
  Tensor y = gate_up.value().new_empty(shape, gate_up.value().dtype());
  glu<F>(gate_up.value(), y);
  Tape* tape = Tape::recording(gate_up);
  Var output(std::move(y), tape);
  if (tape) tape->add<GluNode<F>>(output).gate_up = gate_up;
  return output;
}

}  // namespace sink
