// On the CUDA device: the sum of squares of F32 and BF16 numbers, of blocks in float by a fixed tree (so squares beyond
// F32 make it infinite), and of the blocks' sums in order and in double.
#pragma once

#include <vector>

#include "engine/segment.h"
#include "engine/tensor.h"

namespace sink::cuda {

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum);

}  // namespace sink::cuda
