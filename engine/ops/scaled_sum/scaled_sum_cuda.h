// On the CUDA device: the sum of F32 and BF16 numbers, of blocks in float by a fixed tree, and of the blocks' sums in
// order and in double.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y);

}  // namespace sink::cuda
