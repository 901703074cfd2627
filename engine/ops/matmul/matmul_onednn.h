// The fast matrix product of the CPU, by oneDNN.
#pragma once

#include "engine/ops/matmul/matmul.h"

namespace sink {

struct MatmulSizes {
  std::int64_t M, N, K;
};

namespace cpu {

// Sizes and element types have been checked.
void matmul(const Operand& a, const Operand& b, Tensor& c, const MatmulSizes& sizes, bool accumulate);

}  // namespace cpu
}  // namespace sink
