// What trains: the sum of F32 and BF16 numbers in order, in double.
#pragma once

#include "engine/tensor.h"

namespace sink::cpu {

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y);

}  // namespace sink::cpu
