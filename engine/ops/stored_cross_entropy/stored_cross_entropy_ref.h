// In double, in plain loops.
#pragma once

#include "engine/stored/stored_matrix.h"
#include "engine/tensor.h"

namespace sink::ref {

void stored_cross_entropy(const Tensor& x_NC, const StoredMatrix& w_VC, const Tensor& targets_N, Tensor& loss_N);

}  // namespace sink::ref
