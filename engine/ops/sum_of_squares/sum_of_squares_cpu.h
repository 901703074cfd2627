// What trains: the sum of squares of F32 and BF16 numbers, in double.
#pragma once

#include "engine/tensor.h"

namespace sink::cpu {

double sum_of_squares(const Tensor& x);

}  // namespace sink::cpu
