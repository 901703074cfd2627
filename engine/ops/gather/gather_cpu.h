// What trains: gathering F32 numbers.
#pragma once

#include "engine/tensor.h"

namespace sink::cpu {

void gather(const Tensor& p, const Tensor& index, Tensor& y);
void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate);

}  // namespace sink::cpu
