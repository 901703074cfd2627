// Dispatch of the matrix product: plain loops for F64 and --reference, oneDNN otherwise.
#include "engine/ops/matmul/matmul.h"

#include "engine/ops/matmul/matmul_onednn.h"
#include "engine/ops/matmul/matmul_ref.h"
#include "engine/reference_switch.h"

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

template <class Sum, class In, class Out>
void reference(const Operand& a, const Operand& b, Tensor& c, const MatmulSizes& s, bool accumulate) {
  auto [M, N, K] = s;
  ref::matmul<Sum>(a.tensor.data<In>(), a.transposed ? 1 : K, a.transposed ? M : 1, b.tensor.data<In>(),
                   b.transposed ? 1 : N, b.transposed ? K : 1, c.data<Out>(), M, N, K, accumulate);
}

}  // namespace

void matmul(Operand a, Operand b, Tensor& c, bool accumulate) {
  Matrix A = matrix_of(a), B = matrix_of(b), C = matrix_of({c});
  MatmulSizes sizes{A.rows, B.columns, A.columns};
  SINK_CHECK(A.columns == B.rows && C.rows == A.rows && C.columns == B.columns, "matmul",
             "sizes do not fit: a is " + a.tensor.str() + (a.transposed ? " transposed" : "") + ", b is " +
                 b.tensor.str() + (b.transposed ? " transposed" : "") + ", c is " + c.str());
  DType in = a.tensor.dtype(), out = c.dtype();
  bool types_fit =
      in == b.tensor.dtype() && in != DType::I32 && (out == in || (in == DType::BF16 && out == DType::F32));
  SINK_CHECK(types_fit, "matmul",
             "element types do not fit: a is " + a.tensor.str() + ", b is " + b.tensor.str() + ", c is " + c.str());
  if (sizes.M == 0 || sizes.N == 0) return;
  if (in == DType::F64) return reference<double, double, double>(a, b, c, sizes, accumulate);
  if (!use_reference()) return cpu::matmul(a, b, c, sizes, accumulate);
  if (in == DType::F32) return reference<double, float, float>(a, b, c, sizes, accumulate);
  if (out == DType::F32) return reference<double, bf16, float>(a, b, c, sizes, accumulate);
  reference<float, bf16, bf16>(a, b, c, sizes, accumulate);
}

}  // namespace sink
