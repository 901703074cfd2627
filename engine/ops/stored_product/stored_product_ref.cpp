#include "engine/ops/stored_product/stored_product_ref.h"

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
