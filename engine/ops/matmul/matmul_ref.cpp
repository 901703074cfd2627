// The matrix product in double.
#include "engine/ops/matmul/matmul.h"

#include "engine/implementation.h"
#include "engine/stop_point.h"
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

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

struct Matrix {
  std::int64_t rows, columns;
};

Matrix matrix_of(const Operand& operand) {
  const Tensor& t = operand.tensor;
  std::int64_t columns = t.rank() ? t.dim(-1) : 1;
  std::int64_t rows = columns ? t.size() / columns : 0;
  return operand.transposed ? Matrix{columns, rows} : Matrix{rows, columns};
}

}  // namespace

MatmulSizes matmul_sizes(Operand a, Operand b) {
  return {matrix_of(a).rows, matrix_of(b).columns, matrix_of(a).columns};
}

template <>
struct UpcastF64<Operand> {
  UpcastF64<const Tensor> tensor;
  bool transposed;
  explicit UpcastF64(const Operand& given) : tensor(given.tensor), transposed(given.transposed) {}
  Operand argument() const { return {tensor.argument(), transposed}; }
  void round_back() {}
};

void matmul(Operand a, Operand b, Tensor& c, bool accumulate) {
  stop_point();
  Matrix C = matrix_of({c});
  auto [M, N, K] = matmul_sizes(a, b);
  SINK_CHECK(matrix_of(b).rows == K && C.rows == M && C.columns == N, "matmul",
             "sizes do not fit: a is " + a.tensor.str() + (a.transposed ? " transposed" : "") + ", b is " +
                 b.tensor.str() + (b.transposed ? " transposed" : "") + ", c is " + c.str());
  DType in = a.tensor.dtype(), out = c.dtype();
  bool types_fit =
      in == b.tensor.dtype() && in != DType::I32 && (out == in || (in == DType::BF16 && out == DType::F32));
  SINK_CHECK(types_fit, "matmul",
             "element types do not fit: a is " + a.tensor.str() + ", b is " + b.tensor.str() + ", c is " + c.str());
  if (M == 0 || N == 0) return;
  SINK_SELECT(a.tensor, matmul)(a, b, c, accumulate);
}

}  // namespace sink
