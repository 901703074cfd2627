// Gated units of all experts of a mixture, each multiplied by the router's weight p_e of its expert (gpt-oss 2025):
//   y_ef = p_e (u + 1) g logistic(1.702 g), g = min(gate_ef, 7), u = max(-7, min(up_ef, 7)).
//
// Gate and up of a unit are adjacent. An expert that is not chosen (p_e = 0) outputs zeros, so the sum over the chosen
// experts of p_e W_e y_e is one product over all experts. Backward, with l = logistic(1.702 g):
//   dp_e = sum_f dy (u + 1) g l, du = dy p g l, dg = dy p (u + 1) l (1 + 1.702 g (1 - l)); 0 where gate or up is cut.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// gate_up: (..., E 2F); p: (..., E); y: (..., E F). One element type (computed in F32 for BF16).
void expert_glu(const Tensor& gate_up, const Tensor& p, Tensor& y);
void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, Tensor& dgate_up, Tensor& dp);

SINK_BACKENDS(expert_glu)
SINK_BACKENDS(expert_glu_backward)

}  // namespace sink
