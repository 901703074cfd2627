// What trains: the matrix product by oneDNN.
#pragma once

#include "engine/ops/matmul/matmul.h"

namespace sink::cpu {

void matmul(Operand a, Operand b, Tensor& c, bool accumulate);

}  // namespace sink::cpu
