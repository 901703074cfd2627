// On the CUDA device: F32 and BF16, computed in float, a row on each thread.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p);
void top_softmax_backward(const Tensor& dp, const Tensor& p, Tensor& dx);

}  // namespace sink::cuda
