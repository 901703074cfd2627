// Gated unit: y_f = F(gate_f) up_f; a row of the input is all gates, then all ups (Shazeer 2020). With F = silu it is
// called SwiGLU, with relu ReGLU, with gelu GeGLU.
//
// Backward: dup = dy F(gate), dgate = dy up F'(gate).
#pragma once

#include "engine/ops/activation/activation_math.h"
#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// gate_up: (..., 2F), the gate first; y: (..., F). One element type (computed in F32 for BF16).
template <ListedActivationFunction Function>
void glu(const Tensor& gate_up, Tensor& y);
template <ListedActivationFunction Function>
void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up);

SINK_DECLARE_BACKENDS(template <ListedActivationFunction Function> void glu(const Tensor& gate_up, Tensor& y))
SINK_DECLARE_BACKENDS(template <ListedActivationFunction Function>
                      void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up))

}  // namespace sink
