#include "engine/ops/matmul/matmul_ref.h"

#include "engine/threads.h"

namespace sink::ref {

// Threads share the rows of c, as plain loops over a whole model would be waited for.
void matmul(Operand a, Operand b, Tensor& c, bool accumulate) {
  MatmulSizes sizes = matmul_sizes(a, b);
  std::int64_t M = sizes.M, N = sizes.N, K = sizes.K;
  const double *a_MK = a.tensor.data<double>(), *b_KN = b.tensor.data<double>();
  double* c_MN = c.data<double>();
  auto row = [&](std::int64_t i) {
    for (std::int64_t j = 0; j < N; ++j) {
      double sum = accumulate ? c_MN[i * N + j] : 0;
      for (std::int64_t k = 0; k < K; ++k)
        sum += (a.transposed ? a_MK[k * M + i] : a_MK[i * K + k]) * (b.transposed ? b_KN[j * K + k] : b_KN[k * N + j]);
      c_MN[i * N + j] = sum;
    }
  };
  if (M * N * K > 32768) return parallel_for(M, row);
  for (std::int64_t i = 0; i < M; ++i) row(i);
}

}  // namespace sink::ref
