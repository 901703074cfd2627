// The matrix product in double.
#pragma once

#include "engine/ops/matmul/matmul.h"

namespace sink::ref {

void matmul(Operand a, Operand b, Tensor& c, bool accumulate);

}  // namespace sink::ref
