// On the CUDA device: gathering F32 numbers.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void gather(const Tensor& p, const Tensor& index, Tensor& y);
void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate);

}  // namespace sink::cuda
