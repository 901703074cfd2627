// On the CUDA device: the output gate in F32 and BF16, computed in float.
#pragma once

#include "engine/tensor.h"

namespace sink::cuda {

void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE);
void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE,
                   Tensor& dgate_BTG);

}  // namespace sink::cuda
