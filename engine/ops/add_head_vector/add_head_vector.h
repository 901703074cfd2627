// Adds one vector per head to every position, as a learned bias of the values: y_bhtd = o_bhtd + v_hd.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// o, y: (B, H, T, D) of one type. v: (H, D), F64 where o is F64, else F32.
void add_head_vector(const Tensor& o_BHTD, const Tensor& v_HD, Tensor& y_BHTD);

// do is dy itself; dv_hd = sum_bt dy_bhtd, summed in double, sequence by sequence and position by position (on the
// CUDA device in chunks of positions): the same bits for any number of threads.
void add_head_vector_backward(const Tensor& dy_BHTD, Tensor& dv_HD, bool accumulate);

SINK_BACKENDS(add_head_vector)
SINK_BACKENDS(add_head_vector_backward)

}  // namespace sink
