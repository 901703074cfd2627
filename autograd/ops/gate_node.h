// y = o f(gate), one gate for each element or for each group of adjacent elements.
#pragma once

#include "autograd/record.h"
#include "engine/ops/gate/gate.h"

namespace sink {

struct GateNode {
  Var o_BTE, gate_BTG;
  GateFunction f;

  static constexpr const char* name = "gate";
  void backward(const Tensor& dy) {
    Tensor d_o = Tensor::empty_like(o_BTE.value());
    Tensor dgate = Tensor::empty_like(gate_BTG.value());
    gate_backward(dy, o_BTE.value(), gate_BTG.value(), d_o, dgate, f);
    if (o_BTE.requires_grad()) o_BTE.gradient().accumulate(std::move(d_o));
    if (gate_BTG.requires_grad()) gate_BTG.gradient().accumulate(std::move(dgate));
  }
};

inline Var gate(const Var& o_BTE, const Var& gate_BTG, GateFunction f = GateFunction::logistic) {
  Tensor y = Tensor::empty_like(o_BTE.value());
  gate(o_BTE.value(), gate_BTG.value(), y, f);
  return record<GateNode>(y, o_BTE, gate_BTG, f);
}

}  // namespace sink
