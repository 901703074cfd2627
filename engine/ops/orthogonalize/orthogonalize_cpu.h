// What trains: the Newton-Schulz iteration in F32.
#pragma once

#include "engine/ops/orthogonalize/orthogonalize.h"

namespace sink::cpu {

void orthogonalize(const Tensor& x_MN, Tensor& y_MN);

}  // namespace sink::cpu
