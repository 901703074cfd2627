// What trains: F32 and BF16, computed in float, on all threads.
#pragma once

#include "engine/tensor.h"

namespace sink::cpu {

void expert_glu(const Tensor& gate_up, const Tensor& p, Tensor& y);
void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, Tensor& dgate_up, Tensor& dp);

}  // namespace sink::cpu
