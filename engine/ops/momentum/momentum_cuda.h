// On the CUDA device: momentum of F32.
#pragma once

#include "engine/ops/momentum/momentum.h"

namespace sink::cuda {

void momentum(const MomentumSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& m, Tensor& u);

}  // namespace sink::cuda
