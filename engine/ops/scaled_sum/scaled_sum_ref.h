// The sum of n numbers in order, in double.
#pragma once

#include "engine/tensor.h"

namespace sink::ref {

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y);

}  // namespace sink::ref
