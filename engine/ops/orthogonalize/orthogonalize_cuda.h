// On the CUDA device: the Newton-Schulz iteration in F32.
#pragma once

#include "engine/ops/orthogonalize/orthogonalize.h"

namespace sink::cuda {

void orthogonalize(const Tensor& x_MN, Tensor& y_MN);

}  // namespace sink::cuda
