// Elementwise soft cap: y = cap tanh(x / cap), which is near x around 0 and stays between -cap and cap (Gemma Team
// 2024, of logits); backward: dx = dy (1 - (y / cap)^2), which needs y only.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// x and y: one shape and element type (computed in F32 for BF16), and may be one tensor; cap > 0.
void soft_cap(const Tensor& x, double cap, Tensor& y);
// dy and dx may be one tensor.
void soft_cap_backward(const Tensor& dy, const Tensor& y, double cap, Tensor& dx);

SINK_BACKENDS(soft_cap)
SINK_BACKENDS(soft_cap_backward)

}  // namespace sink
