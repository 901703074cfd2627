// Gated unit: y_f = silu(gate_f) up_f with silu(x) = x logistic(x); the two halves of one row lie behind each other
// (Shazeer 2020).
//
// Backward, with l = logistic(gate): dup = dy silu(gate), dgate = dy up l (1 + gate (1 - l)).
#pragma once

#include "engine/tensor.h"

namespace sink {

// gate_up: (..., 2F), the gate first; y: (..., F). One element type (sums are F32 for BF16).
void swiglu(const Tensor& gate_up, Tensor& y);
void swiglu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up);

}  // namespace sink
