// Lion in double.
#pragma once

#include "engine/ops/lion/lion.h"

namespace sink::ref {

void lion(const LionSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& copy);

}  // namespace sink::ref
