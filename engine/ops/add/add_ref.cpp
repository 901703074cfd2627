#include "engine/ops/add/add_ref.h"

namespace sink::ref {

void add(const Tensor& a, const Tensor& b, Tensor& y) {
  const double *a_i = a.data<double>(), *b_i = b.data<double>();
  double* y_i = y.data<double>();
  for (std::int64_t i = 0; i < a.size(); ++i) y_i[i] = a_i[i] + b_i[i];
}

void add_rows(const Tensor& x_BTC, const Tensor& p_TC, Tensor& y_BTC) {
  const double *x = x_BTC.data<double>(), *p = p_TC.data<double>();
  double* y = y_BTC.data<double>();
  std::int64_t TC = x_BTC.dim(1) * x_BTC.dim(2);
  for (std::int64_t i = 0; i < x_BTC.size(); ++i) y[i] = x[i] + p[i % TC];
}

// Forward was: y_btc = x_btc + p_tc. Rows of p that no position used get 0.
void add_rows_backward(const Tensor& dy_BTC, Tensor& dp_TC, bool accumulate) {
  const double* dy = dy_BTC.data<double>();
  double* dp = dp_TC.data<double>();
  std::int64_t TC = dy_BTC.dim(1) * dy_BTC.dim(2);
  if (!accumulate) dp_TC.fill(0);
  for (std::int64_t i = 0; i < dy_BTC.size(); ++i) dp[i % TC] += dy[i];
}

void scale(Tensor& a, const Tensor& factor) {
  double* a_i = a.data<double>();
  for (std::int64_t i = 0; i < a.size(); ++i) a_i[i] *= *factor.data<double>();
}

}  // namespace sink::ref
