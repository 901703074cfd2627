// On the CUDA device: the embedding in F32.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void embedding(const Tensor& tokens_BT, const Tensor& w_VC, Tensor& x_BTC);
void embedding_backward(const Tensor& dx_BTC, const Tensor& tokens_BT, Tensor& dw_VC, bool accumulate);

}  // namespace sink::cuda
