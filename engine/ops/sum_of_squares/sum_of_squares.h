// sum_i x_i^2 in double, for the global gradient norm. The same bits for any number of threads.
#pragma once

#include "engine/tensor.h"

namespace sink {

double sum_of_squares(const Tensor& x);

}  // namespace sink
