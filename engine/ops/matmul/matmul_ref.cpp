// Reference: the matrix product in double.
#include "engine/ops/matmul/matmul.h"

#include <algorithm>
#include <cmath>

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

namespace {

// A product of more operations than this on the CPU, about a second of two cores, is computed in parts with a stop
// point before each. The parts depend on sizes alone, so results do not depend on the number of threads or processes.
constexpr double kLargestPart = 1e11;

std::int64_t parts_of(const Operand& a, const MatmulSizes& sizes) {
  if (a.tensor.device() != Device::cpu) return 1;
  const double operations =
      2.0 * static_cast<double>(sizes.M) * static_cast<double>(sizes.N) * static_cast<double>(sizes.K);
  return static_cast<std::int64_t>(std::ceil(operations / kLargestPart));
}

// f(first, last) for parts of 0 ... count of nearly equal length.
template <class F>
void for_each_part(std::int64_t count, std::int64_t parts, F&& f) {
  const std::int64_t each = (count + parts - 1) / parts;
  for (std::int64_t first = 0; first < count; first += each) {
    stop_point();
    f(first, std::min(count, first + each));
  }
}

}  // namespace

void matmul(Operand a, Operand b, Tensor& c, bool accumulate) {
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
  if (K == 0 && !accumulate) c.fill(0);
  if (M == 0 || N == 0 || K == 0) return;  // neither oneDNN nor cuBLASLt takes empty matrices
  const auto product = SINK_SELECT(a.tensor, matmul);
  const std::int64_t parts = parts_of(a, {M, N, K});
  if (parts > 1 && !a.transposed) {  // rows of c
    const Tensor a_MK = a.tensor.reshape({M, K}), c_MN = c.reshape({M, N});
    for_each_part(M, parts, [&](std::int64_t first, std::int64_t last) {
      Tensor rows = c_MN.rows(first, last);
      const Tensor of_a = a_MK.rows(first, last);
      product({of_a}, b, rows, accumulate);
    });
  } else if (parts > 1 && !b.transposed && out != DType::BF16) {  // summands
    const Tensor a_KM = a.tensor.reshape({K, M}), b_KN = b.tensor.reshape({K, N});
    for_each_part(K, parts, [&](std::int64_t first, std::int64_t last) {
      const Tensor of_a = a_KM.rows(first, last), of_b = b_KN.rows(first, last);
      product(transposed(of_a), {of_b}, c, accumulate || first > 0);
    });
  } else {
    stop_point();
    product(a, b, c, accumulate);
  }
}

}  // namespace sink
