// Sums of squares of pieces in plain order.
#pragma once

#include <vector>

#include "engine/segment.h"
#include "engine/tensor.h"

namespace sink::ref {

void piece_squares(const Tensor& x, Tensor& sums);
void sum_pieces(const Tensor& sums, const std::vector<Segment>& sections, Tensor& sum);

}  // namespace sink::ref
