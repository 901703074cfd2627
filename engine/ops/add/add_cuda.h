// On the CUDA device: sums in F32 and BF16, added in float.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void add(const Tensor& a, const Tensor& b, Tensor& y);
void add_rows(const Tensor& x_BTC, const Tensor& p_TC, Tensor& y_BTC);
void add_rows_backward(const Tensor& dy_BTC, Tensor& dp_TC, bool accumulate);
void scale(Tensor& a, const Tensor& factor);

}  // namespace sink::cuda
