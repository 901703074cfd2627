// Fills and conversions of tensors on the device.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void fill(Tensor& x, double value);
// From one real type to another or the same; I32 only to I32.
void convert(const Tensor& from, Tensor& to);

}  // namespace sink::cuda
