// Output gate of attention: multiplies every group of adjacent elements by one value between 0 and 1,
//   y_bte = o_bte logistic(g_btn), n = e / (E / G): element e belongs to group n of E/G elements (Qiu et al. 2025).
//
// Backward, with l = logistic(g_n): do_e = dy_e l, dg_n = l (1 - l) sum over the group of dy_e o_e.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// o, y: (B, T, E); gate: (B, T, G) with G a divisor of E. One element type (computed in F32 for BF16).
void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE);
void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE,
                   Tensor& dgate_BTG);

SINK_BACKENDS(gate)
SINK_BACKENDS(gate_backward)

}  // namespace sink
