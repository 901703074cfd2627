// On the CUDA device: the squares of a piece of F32 or BF16 numbers in float by a fixed tree, the pieces of a section
// in double: 256 sums of every 256th piece, added in order.
#pragma once

#include <vector>

#include "engine/segment.h"
#include "engine/tensor.h"

namespace sink::cuda {

void piece_squares(const Tensor& x, Tensor& sums);
void sum_pieces(const Tensor& sums, const std::vector<Segment>& sections, Tensor& sum);

}  // namespace sink::cuda
