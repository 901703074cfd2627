// Momentum in double.
#pragma once

#include "engine/ops/momentum/momentum.h"

namespace sink::ref {

void momentum(const MomentumSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& m, Tensor& u);

}  // namespace sink::ref
