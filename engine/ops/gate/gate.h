// Output gate of attention: multiplies every group of adjacent elements by one value,
//   y_bte = o_bte f(g_btn), n = e / (E / G): element e belongs to group n of E/G elements (Qiu et al. 2025).
//
// Backward: do_e = dy_e f(g_n), dg_n = f'(g_n) sum over the group of dy_e o_e.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// f: logistic(g), between 0 and 1; or g logistic(g), also called swish.
enum class GateFunction { logistic, silu };

// o, y: (B, T, E); gate: (B, T, G) with G a divisor of E. One element type (computed in F32 for BF16).
void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE, GateFunction f = GateFunction::logistic);
void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE, Tensor& dgate_BTG,
                   GateFunction f = GateFunction::logistic);

SINK_BACKENDS(gate)
SINK_BACKENDS(gate_backward)

}  // namespace sink
