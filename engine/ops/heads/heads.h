// Between the rows of a projection and the heads of attention: reorders numbers, changes none.
#pragma once

#include "engine/tensor.h"

namespace sink {

// qkv: (B, T, 3 H D), the queries of all heads, then the keys, then the values. Each result is (B, H, T, D).
void split_heads(const Tensor& qkv_BTE, Tensor& q_BHTD, Tensor& k_BHTD, Tensor& v_BHTD);
// Its backward: gathers the three gradients into one.
void split_heads_backward(const Tensor& dq_BHTD, const Tensor& dk_BHTD, const Tensor& dv_BHTD, Tensor& dqkv_BTE);

// o: (B, H, T, D) to (B, T, H D), the heads side by side. The two are each other's backward.
void merge_heads(const Tensor& o_BHTD, Tensor& o_BTC);
void merge_heads_backward(const Tensor& do_BTC, Tensor& do_BHTD);

}  // namespace sink
