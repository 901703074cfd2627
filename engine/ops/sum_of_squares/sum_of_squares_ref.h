// The sum of squares in plain order.
#pragma once

#include "engine/tensor.h"

namespace sink::ref {

double sum_of_squares(const Tensor& x);

}  // namespace sink::ref
