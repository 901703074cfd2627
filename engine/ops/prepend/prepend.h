// A learned row before every sequence, and its removal: how a sink token enters and leaves.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// y_b = (row, x_b1, ..., x_bT), an undefined row being zeros. x: (B, T, C), y: (B, 1 + T, C), of one type.
// row: (1, C), with which all are F32 or F64.
void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC);
// dx_bt = dy_b,t+1; drow = sum_b dy_b0, F32 or F64, sequences in order: the same bits every time.
void prepend_backward(const Tensor& dy_BTC, Tensor& dx_BTC, Tensor& drow_1C, bool accumulate_drow);

// y_b = (x_b2, ..., x_bT). x: (B, T, C), y: (B, T - 1, C) of the same type. Backward: dx_b1 = 0, the rest is dy.
void drop_first(const Tensor& x_BTC, Tensor& y_BTC);
inline void drop_first_backward(const Tensor& dy_BTC, Tensor& dx_BTC) { prepend(dy_BTC, {}, dx_BTC); }

SINK_BACKENDS(prepend)
SINK_BACKENDS(prepend_backward)
SINK_BACKENDS(drop_first)

}  // namespace sink
