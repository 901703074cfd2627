// On the CUDA device: Lion on F32.
#pragma once

#include "engine/ops/lion/lion.h"

namespace sink::cuda {

void lion(const LionSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& copy);

}  // namespace sink::cuda
