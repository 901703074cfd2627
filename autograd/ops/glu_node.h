// y = F(gate) up, gate and up side by side in the input.
#pragma once

#include "autograd/record.h"
#include "engine/ops/glu/glu.h"

namespace sink {

template <ListedActivationFunction F>
struct GluNode {
  Var gate_up;

  static constexpr const char* name = "glu";
  void backward(const Tensor& dy) {
    Tensor dgate_up = Tensor::empty_like(gate_up.value());
    glu_backward<F>(dy, gate_up.value(), dgate_up);
    gate_up.gradient().accumulate(std::move(dgate_up));
  }
};

template <ListedActivationFunction F>
Var glu(const Var& gate_up) {
  Shape shape = gate_up.value().shape();
  shape[-1] /= 2;
  Tensor y = gate_up.value().new_empty(shape, gate_up.value().dtype());
  glu<F>(gate_up.value(), y);
  return record<GluNode<F>>(y, gate_up);
}

}  // namespace sink
