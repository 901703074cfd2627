// Matrix product: c_MN = op(a)_MK . op(b)_KN, or c_MN += ... if `accumulate`; op transposes where asked.
//
// A tensor of rank > 2 counts as a matrix of its last axis against all the others: (B, T, C) is (B*T, C).
// Element types: a and b alike, F32 -> F32, BF16 -> BF16 or F32 (sums are F32), F64 -> F64.
// Backward of y = x W^T: dx = dy W, dW = dy^T x, each a matmul of its own.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

struct Operand {
  const Tensor& tensor;
  bool transposed = false;
};
inline Operand transposed(const Tensor& tensor) { return {tensor, true}; }

// c is (M, N), op(a) is (M, K), op(b) is (K, N).
struct MatmulSizes {
  std::int64_t M, N, K;
};
MatmulSizes matmul_sizes(Operand a, Operand b);

void matmul(Operand a, Operand b, Tensor& c, bool accumulate = false);

SINK_BACKENDS(matmul)

}  // namespace sink
