// On the CUDA device: AdamW on F32.
#pragma once

#include "engine/ops/adamw/adamw.h"

namespace sink::cuda {

void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor& copy);

}  // namespace sink::cuda
