// What trains: Lion on F32. The copy is left to the caller, as by the reference.
#pragma once

#include "engine/ops/lion/lion.h"

namespace sink::cpu {

void lion(const LionSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& copy);

}  // namespace sink::cpu
