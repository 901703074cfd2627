// CUDA backend: the matrix product by cuBLASLt, or by its substitute on the emulated device.
#include "engine/ops/matmul/matmul.h"

#include <utility>

#include "engine/cuda/gemm.h"
#include "engine/precision.h"

namespace sink::cuda {
namespace {

const void* memory_of(const Tensor& x) {
  return with_real<float, bf16>(x.dtype(), [&](auto zero) -> const void* { return x.device_data<decltype(zero)>(); });
}

void* memory_of(Tensor& x) { return const_cast<void*>(memory_of(std::as_const(x))); }

}  // namespace

// A row-major matrix, read column by column, is its transpose. So c_MN is asked for as c_NM = op(b)_NK op(a)_KM.
void matmul(Operand a, Operand b, Tensor& c, bool accumulate) {
  auto [M, N, K] = matmul_sizes(a, b);
  Gemm g;
  g.m = N, g.n = M, g.k = K;
  g.transpose_a = b.transposed, g.transpose_b = a.transposed;
  g.lda = b.transposed ? K : N, g.ldb = a.transposed ? M : K, g.ldc = N;
  g.in = a.tensor.dtype(), g.out = c.dtype();
  g.tf32 = g.in == DType::F32 && use_tf32();
  g.beta = accumulate ? 1 : 0;
  g.a = memory_of(b.tensor), g.b = memory_of(a.tensor), g.c = memory_of(c);
  gemm(g);
}

}  // namespace sink::cuda
