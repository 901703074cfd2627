// In double.
#pragma once

#include "engine/tensor.h"

namespace sink::ref {

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p);
void top_softmax_backward(const Tensor& dp, const Tensor& p, Tensor& dx);

}  // namespace sink::ref
