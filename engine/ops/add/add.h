// Sums: of two tensors, and of a table of rows to every sequence of a batch.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// y_i = a_i + b_i. a and y have one element type; b may also be BF16 (a branch added to the F32 residual stream).
// Backward: da = dy, db = dy.
void add(const Tensor& a, const Tensor& b, Tensor& y);

// a_i += b_i, the accumulation of gradients.
void add_into(Tensor& a, const Tensor& b);

// y_btc = x_btc + p_tc for t < T; p may have more rows than T. Backward: dx = dy, dp_tc = sum_b dy_btc.
void add_rows(const Tensor& x_BTC, const Tensor& p_TC, Tensor& y_BTC);
void add_rows_backward(const Tensor& dy_BTC, Tensor& dp_TC, bool accumulate);

// a_i *= factor, a tensor of one element of the type in which a is summed. A factor of 1 costs nothing.
void scale(Tensor& a, const Tensor& factor);

SINK_BACKENDS(add)
SINK_BACKENDS(add_rows)
SINK_BACKENDS(add_rows_backward)
SINK_BACKENDS(scale)

}  // namespace sink
