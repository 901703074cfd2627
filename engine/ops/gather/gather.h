// Expands a few learned values into a larger tensor: y_n = p_{index(n)}, or 0 where the index is -1. It shares a vector
// among heads, pads one with zeros, and turns a table of buckets into a bias by distance.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// index: I32, one entry per element of y, each -1 or an index into p. p and y: F32 or F64, the same type.
void gather(const Tensor& p, const Tensor& index, Tensor& y);

// dp_i = sum of dy_n over index(n) = i, in double and in the order of n (on the CUDA device in
// another order): the same bits every time.
void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate);

SINK_BACKENDS(gather)
SINK_BACKENDS(gather_backward)

}  // namespace sink
