// What trains: rotary embedding of F32 and BF16, computed in float.
#pragma once

#include "engine/ops/rotary/rotary.h"

namespace sink::cpu {

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD);
void split_rotary(const Tensor& qkv_BTE, const RotaryTable& table, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD);
void split_rotary_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD,
                           const RotaryTable& table, Tensor& dqkv_BTE);

}  // namespace sink::cpu
