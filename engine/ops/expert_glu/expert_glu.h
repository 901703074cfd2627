// Gated units of all experts of a mixture, each multiplied by the router's weight p_e of its expert,
// y_ef = p_e unit(gate_ef, up_ef):
//   clamped_swiglu (gpt-oss 2025): (u + 1) g logistic(1.702 g), g = min(gate, 7), u = max(-7, min(up, 7));
//   swiglu (Mixtral, Jiang et al. 2024): gate logistic(gate) up.
//
// Gate and up of a unit are adjacent. An expert that is not chosen (p_e = 0) outputs zeros, so the sum over the chosen
// experts of W_e y_e is one product over all experts. Backward, with l the logistic and a its factor, 1.702 or 1:
//   dp_e = sum_f dy unit, du = dy p g l, dg = dy p (u + 1) l (1 + a g (1 - l)), of swiglu with u for u + 1; 0 where
//   gate or up is cut.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

enum class ExpertUnit { clamped_swiglu, swiglu };

// gate_up: (..., E 2F); p: (..., E); y: (..., E F). One element type (computed in F32 for BF16).
void expert_glu(const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& y);
void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& dgate_up,
                         Tensor& dp);

SINK_BACKENDS(expert_glu)
SINK_BACKENDS(expert_glu_backward)

}  // namespace sink
