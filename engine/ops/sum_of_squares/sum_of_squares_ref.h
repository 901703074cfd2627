// The sum of squares in plain order.
#pragma once

#include <vector>

#include "engine/segment.h"
#include "engine/tensor.h"

namespace sink::ref {

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum);

}  // namespace sink::ref
