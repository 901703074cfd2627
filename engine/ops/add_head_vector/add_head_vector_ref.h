// Head vectors in double.
#pragma once

#include "engine/tensor.h"

namespace sink::ref {

void add_head_vector(const Tensor& o_BHTD, const Tensor& v_HD, Tensor& y_BHTD);
void add_head_vector_backward(const Tensor& dy_BHTD, Tensor& dv_HD, bool accumulate);

}  // namespace sink::ref
