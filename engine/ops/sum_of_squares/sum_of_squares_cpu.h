// What trains: the sum of squares of F32 and BF16 numbers, in double.
#pragma once

#include <vector>

#include "engine/segment.h"
#include "engine/tensor.h"

namespace sink::cpu {

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum);

}  // namespace sink::cpu
