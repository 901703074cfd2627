// What trains: sums of squares of pieces of F32 and BF16 numbers, in double.
#pragma once

#include "engine/tensor.h"

namespace sink::cpu {

void piece_squares(const Tensor& x, Tensor& sums);

}  // namespace sink::cpu
