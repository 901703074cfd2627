// y = silu(gate) up, gate and up side by side in the input.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/swiglu/swiglu.h"

namespace sink {

struct SwigluNode : Node {
  Var gate_up;

  const char* name() const override { return "swiglu"; }
  void backward() override {
    Tensor dgate_up = Tensor::empty(gate_up.value().shape(), gate_up.value().dtype());
    swiglu_backward(output_grad(), gate_up.value(), dgate_up);
    gate_up.gradient().accumulate(std::move(dgate_up));
  }
};

inline Var swiglu(const Var& gate_up) {
  Shape shape = gate_up.value().shape();
  shape[-1] /= 2;
  Tensor y = Tensor::empty(shape, gate_up.value().dtype());
  swiglu(gate_up.value(), y);
  Tape* tape = Tape::recording(gate_up);
  Var output(std::move(y), tape);
  if (tape) tape->add<SwigluNode>(output).gate_up = gate_up;
  return output;
}

}  // namespace sink
