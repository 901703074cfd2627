// On the CUDA device: the matrix product by cuBLASLt, or by what stands for it on the emulated device.
#pragma once

#include "engine/ops/matmul/matmul.h"

namespace sink::cuda {

void matmul(Operand a, Operand b, Tensor& c, bool accumulate);

}  // namespace sink::cuda
