// On the CUDA device: reordering and summing heads of F32 and BF16.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void split_heads(const Tensor& qkv_BTE, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD);
void split_heads_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD, Tensor& dqkv_BTE);
void merge_heads(const Tensor& o_BHTD, Tensor& o_BTC);
void merge_heads_backward(const Tensor& do_BTC, Tensor& do_BHTD);
void sum_heads(const Tensor& o_BHTD, Tensor& y_BTD);
void sum_heads_backward(const Tensor& dy_BTD, Tensor& do_BHTD);

}  // namespace sink::cuda
