// What runs: F32 and BF16, on all threads.
#pragma once

#include "engine/stored/stored_matrix.h"
#include "engine/tensor.h"

namespace sink::cpu {

void stored_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y);
void stored_rows(const Tensor& tokens_BT, const StoredMatrix& w_VK, Tensor& x_BTK);

}  // namespace sink::cpu
