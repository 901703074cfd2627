// The Newton-Schulz iteration in double.
#pragma once

#include "engine/ops/orthogonalize/orthogonalize.h"

namespace sink::ref {

void orthogonalize(const Tensor& x_MN, Tensor& y_MN);

}  // namespace sink::ref
