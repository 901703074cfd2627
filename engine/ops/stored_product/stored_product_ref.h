// In double, in plain loops.
#pragma once

#include "engine/stored/stored_matrix.h"
#include "engine/tensor.h"

namespace sink::ref {

void stored_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y);
void stored_rows(const Tensor& tokens_BT, const StoredMatrix& w_VK, Tensor& x_BTK);

}  // namespace sink::ref
