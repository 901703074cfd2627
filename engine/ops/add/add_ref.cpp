// Reference: sums in double.
#include "engine/ops/add/add.h"

#include "engine/implementation.h"

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

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void add(const Tensor& a, const Tensor& b, Tensor& y) {
  SINK_CHECK(a.shape() == b.shape() && a.shape() == y.shape() && a.dtype() == y.dtype(), "add",
             "a, b and y must have one shape, a and y one element type: a is " + a.str() + ", b is " + b.str() +
                 ", y is " + y.str());
  bool types_fit = a.dtype() == b.dtype() || (a.dtype() == DType::F32 && b.dtype() == DType::BF16);
  SINK_CHECK(types_fit && a.dtype() != DType::I32, "add", "cannot add " + b.str() + " to " + a.str());
  SINK_SELECT(a, add)(a, b, y);
}

void add_into(Tensor& a, const Tensor& b) { add(a, b, a); }

void add_rows(const Tensor& x_BTC, const Tensor& p_TC, Tensor& y_BTC) {
  SINK_CHECK(x_BTC.rank() == 3 && p_TC.rank() == 2 && p_TC.dim(0) >= x_BTC.dim(1) && p_TC.dim(1) == x_BTC.dim(2) &&
                 y_BTC.shape() == x_BTC.shape() && x_BTC.dtype() == p_TC.dtype() && x_BTC.dtype() == y_BTC.dtype(),
             "add_rows",
             "the table needs a row for every position: x is " + x_BTC.str() + ", p is " + p_TC.str() + ", y is " +
                 y_BTC.str());
  SINK_SELECT(x_BTC, add_rows)(x_BTC, p_TC, y_BTC);
}

void add_rows_backward(const Tensor& dy_BTC, Tensor& dp_TC, bool accumulate) {
  bool fits = dy_BTC.rank() == 3 && dp_TC.rank() == 2 && dp_TC.dim(0) >= dy_BTC.dim(1) &&
              dp_TC.dim(1) == dy_BTC.dim(2) && dp_TC.dtype() == dy_BTC.dtype();
  SINK_CHECK(fits, "add_rows_backward",
             "the table needs a row for every position: dy is " + dy_BTC.str() + ", dp is " + dp_TC.str());
  SINK_CHECK(dy_BTC.dtype() == accumulate_type(dy_BTC.dtype()), "add_rows_backward",
             "sums over the batch are taken in f32 or f64, got " + dy_BTC.str());
  SINK_SELECT(dy_BTC, add_rows_backward)(dy_BTC, dp_TC, accumulate);
}

void scale(Tensor& a, const Tensor& factor) {
  SINK_CHECK(factor.size() == 1 && factor.dtype() == accumulate_type(a.dtype()), "scale",
             "expected a factor of one element, " + std::string(name_of(accumulate_type(a.dtype()))) + ", for " +
                 a.str() + "; got " + factor.str());
  SINK_SELECT(a, scale)(a, factor);
}

}  // namespace sink
