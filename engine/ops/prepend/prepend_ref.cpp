#include "engine/ops/prepend/prepend_ref.h"

namespace sink::ref {

void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC) {
  std::int64_t B = x_BTC.dim(0), T = x_BTC.dim(1), C = x_BTC.dim(2);
  const double *x = x_BTC.data<double>(), *row = row_1C.data<double>();
  double* y = y_BTC.data<double>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < 1 + T; ++t)
      for (std::int64_t c = 0; c < C; ++c) y[(b * (1 + T) + t) * C + c] = t == 0 ? row[c] : x[(b * T + t - 1) * C + c];
}

// Forward was: y_b = (row, x_b).
void prepend_backward(const Tensor& dy_BTC, Tensor& dx_BTC, Tensor& drow_1C, bool accumulate_drow) {
  drop_first(dy_BTC, dx_BTC);
  if (!accumulate_drow) drow_1C.fill(0);
  std::int64_t B = dy_BTC.dim(0), TC = dy_BTC.dim(1) * dy_BTC.dim(2), C = dy_BTC.dim(2);
  const double* dy = dy_BTC.data<double>();
  double* drow = drow_1C.data<double>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t c = 0; c < C; ++c) drow[c] += dy[b * TC + c];
}

void drop_first(const Tensor& x_BTC, Tensor& y_BTC) {
  std::int64_t B = y_BTC.dim(0), T = y_BTC.dim(1), C = y_BTC.dim(2);
  const double* x = x_BTC.data<double>();
  double* y = y_BTC.data<double>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t i = 0; i < T * C; ++i) y[b * T * C + i] = x[b * (1 + T) * C + C + i];
}

// The dropped position gets 0.
void drop_first_backward(const Tensor& dy_BTC, Tensor& dx_BTC) {
  std::int64_t B = dy_BTC.dim(0), T = dy_BTC.dim(1), C = dy_BTC.dim(2);
  const double* dy = dy_BTC.data<double>();
  double* dx = dx_BTC.data<double>();
  dx_BTC.fill(0);
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t i = 0; i < T * C; ++i) dx[b * (1 + T) * C + C + i] = dy[b * T * C + i];
}

}  // namespace sink::ref
