// On the CUDA device: a row more in F32, a row less in F32 and BF16.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC);
void prepend_backward(const Tensor& dy_BTC, Tensor& dx_BTC, Tensor& drow_1C, bool accumulate_drow);
void drop_first(const Tensor& x_BTC, Tensor& y_BTC);
void drop_first_backward(const Tensor& dy_BTC, Tensor& dx_BTC);

}  // namespace sink::cuda
