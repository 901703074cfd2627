// In double.
#pragma once

#include "engine/tensor.h"

namespace sink::ref {

void expert_glu(const Tensor& gate_up, const Tensor& p, Tensor& y);
void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, Tensor& dgate_up, Tensor& dp);

}  // namespace sink::ref
