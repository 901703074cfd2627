// y = gated units of all experts, times what the router gives each.
#pragma once

#include "autograd/record.h"
#include "engine/ops/expert_glu/expert_glu.h"

namespace sink {

struct ExpertGluNode {
  Var gate_up, p;
  ExpertUnit unit;

  static constexpr const char* name = "expert_glu";
  void backward(const Tensor& dy) {
    Tensor dgate_up = Tensor::empty_like(gate_up.value()), dp = Tensor::empty_like(p.value());
    expert_glu_backward(dy, gate_up.value(), p.value(), unit, dgate_up, dp);
    if (gate_up.requires_grad()) gate_up.gradient().accumulate(std::move(dgate_up));
    if (p.requires_grad()) p.gradient().accumulate(std::move(dp));
  }
};

// gate_up: (..., E 2F); p: (..., E); y: (..., E F).
inline Var expert_glu(const Var& gate_up, const Var& p, ExpertUnit unit) {
  Shape shape = gate_up.value().shape();
  shape[-1] /= 2;
  Tensor y = gate_up.value().new_empty(shape, gate_up.value().dtype());
  expert_glu(gate_up.value(), p.value(), unit, y);
  return record<ExpertGluNode>(y, gate_up, p, unit);
}

}  // namespace sink
