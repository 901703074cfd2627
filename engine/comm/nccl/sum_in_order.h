// The sum of what ranks have sent, on the device.
#pragma once

#include "engine/tensor.h"

namespace sink {

// chunk_i = x_0i + x_1i + ..., or chunk_i + x_0i + x_1i + ..., from left to right. `parts` holds x_0, x_1, ... one
// after the other. F32, summed in the order of host_communicator.cpp, to the same bits.
void sum_in_order(const Tensor& parts, Tensor& chunk, bool add);

}  // namespace sink
