// Gathering in double.
#pragma once

#include "engine/tensor.h"

namespace sink::ref {

void gather(const Tensor& p, const Tensor& index, Tensor& y);
void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate);

}  // namespace sink::ref
