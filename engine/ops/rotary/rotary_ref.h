// Rotary embedding in double.
#pragma once

#include "engine/ops/rotary/rotary.h"

namespace sink::ref {

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD);

}  // namespace sink::ref
