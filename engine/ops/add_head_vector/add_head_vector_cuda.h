// On the CUDA device: head vectors in F32, heads in F32 or BF16.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void add_head_vector(const Tensor& o_BHTD, const Tensor& v_HD, Tensor& y_BHTD);
void add_head_vector_backward(const Tensor& dy_BHTD, Tensor& dv_HD, bool accumulate);

}  // namespace sink::cuda
