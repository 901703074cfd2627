// On the CUDA device: rotary embedding of F32 and BF16, computed in float.
#pragma once

#include "engine/ops/rotary/rotary.h"

namespace sink::cuda {

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD);

}  // namespace sink::cuda
