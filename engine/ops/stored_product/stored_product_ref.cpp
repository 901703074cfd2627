// Reference: in double, in plain loops.
#include "engine/ops/stored_product/stored_product.h"

#include "engine/implementation.h"
#include "engine/ops/add/add.h"

namespace sink::ref {

void stored_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y) {
  const std::int64_t N = w_NK.rows, K = w_NK.columns, M = x.size() / K;
  for (std::int64_t n = 0; n < N; ++n) {
    const std::vector<double> w_K = row_of(w_NK, n);
    for (std::int64_t m = 0; m < M; ++m) {
      double sum = 0;
      for (std::int64_t k = 0; k < K; ++k) sum += x.data<double>()[m * K + k] * w_K[static_cast<std::size_t>(k)];
      y.data<double>()[m * N + n] = sum;
    }
  }
}

void stored_rows(const Tensor& tokens_BT, const StoredMatrix& w_VK, Tensor& x_BTK) {
  const std::int64_t K = w_VK.columns;
  for (std::int64_t n = 0; n < tokens_BT.size(); ++n) {
    const std::vector<double> w_K = row_of(w_VK, tokens_BT.data<std::int32_t>()[n]);
    for (std::int64_t k = 0; k < K; ++k)
      x_BTK.data<double>()[n * K + k] = static_cast<double>(w_VK.times) * w_K[static_cast<std::size_t>(k)];
  }
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void stored_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y) {
  SINK_CHECK(
      x.rank() > 0 && y.rank() == x.rank() && x.dim(-1) == w_NK.columns && y.dim(-1) == w_NK.rows &&
          y.size() / std::max<std::int64_t>(1, w_NK.rows) == x.size() / std::max<std::int64_t>(1, w_NK.columns) &&
          (x.dtype() == y.dtype() || (x.dtype() == DType::BF16 && y.dtype() == DType::F32)) && x.dtype() != DType::I32,
      "stored_product", "x is " + x.str() + ", w is " + w_NK.str() + ", y is " + y.str());
  if (y.size() == 0) return;
  SINK_SELECT(x, stored_product)(x, w_NK, y);
  if (w_NK.times != 1) scale(y, Tensor::full({1}, w_NK.times, accumulate_type(y.dtype()), y.device()));
}

void stored_rows(const Tensor& tokens_BT, const StoredMatrix& w_VK, Tensor& x_BTK) {
  SINK_CHECK(tokens_BT.dtype() == DType::I32 && x_BTK.size() == tokens_BT.size() * w_VK.columns &&
                 x_BTK.dim(-1) == w_VK.columns && x_BTK.dtype() == accumulate_type(x_BTK.dtype()),
             "stored_rows", "tokens is " + tokens_BT.str() + ", table is " + w_VK.str() + ", x is " + x_BTK.str());
  SINK_SELECT(x_BTK, stored_rows)(tokens_BT, w_VK, x_BTK);
}

}  // namespace sink
