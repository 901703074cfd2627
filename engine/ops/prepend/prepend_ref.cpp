// Reference: a row more and a row less, in double.
#include "engine/ops/prepend/prepend.h"

#include "engine/implementation.h"

namespace sink::ref {

void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC) {
  std::int64_t B = x_BTC.dim(0), T = x_BTC.dim(1), C = x_BTC.dim(2);
  const double *x = x_BTC.data<double>(), *row = row_1C.defined() ? row_1C.data<double>() : nullptr;
  double* y = y_BTC.data<double>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < 1 + T; ++t)
      for (std::int64_t c = 0; c < C; ++c)
        y[(b * (1 + T) + t) * C + c] = t > 0 ? x[(b * T + t - 1) * C + c] : row ? row[c] : 0;
}

// Forward was: y_b = (row, x_b).
void prepend_backward(const Tensor& dy_BTC, Tensor& dx_BTC, Tensor& drow_1C, bool accumulate_drow) {
  ref::drop_first(dy_BTC, dx_BTC);
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

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

// `longer` has one position more than the T of `shorter`.
void check_prepend(const char* tag, const Tensor& shorter_BTC, const Tensor& longer_BTC) {
  bool fits = shorter_BTC.rank() == 3 && longer_BTC.rank() == 3 && longer_BTC.dim(0) == shorter_BTC.dim(0) &&
              longer_BTC.dim(1) == shorter_BTC.dim(1) + 1 && longer_BTC.dim(2) == shorter_BTC.dim(2) &&
              longer_BTC.dtype() == shorter_BTC.dtype();
  SINK_CHECK(fits, tag,
             "expected (B, T, C) and (B, 1 + T, C) of one type, got " + shorter_BTC.str() + " and " + longer_BTC.str());
}

void check_row(const char* tag, const Tensor& x_BTC, const Tensor& row_1C) {
  bool fits = row_1C.shape() == Shape{1, x_BTC.dim(2)} && row_1C.dtype() == x_BTC.dtype() &&
              row_1C.dtype() == accumulate_type(row_1C.dtype());
  SINK_CHECK(fits, tag,
             "expected (B, T, C) and a row (1, C), both f32 or both f64, got " + x_BTC.str() + " and " + row_1C.str());
}

}  // namespace

void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC) {
  check_prepend("prepend", x_BTC, y_BTC);
  if (row_1C.defined()) check_row("prepend", x_BTC, row_1C);
  SINK_SELECT(x_BTC, prepend)(x_BTC, row_1C, y_BTC);
}

void prepend_backward(const Tensor& dy_BTC, Tensor& dx_BTC, Tensor& drow_1C, bool accumulate_drow) {
  check_prepend("prepend_backward", dx_BTC, dy_BTC);
  check_row("prepend_backward", dx_BTC, drow_1C);
  SINK_SELECT(dy_BTC, prepend_backward)(dy_BTC, dx_BTC, drow_1C, accumulate_drow);
}

void drop_first(const Tensor& x_BTC, Tensor& y_BTC) {
  check_prepend("drop_first", y_BTC, x_BTC);
  SINK_SELECT(x_BTC, drop_first)(x_BTC, y_BTC);
}

}  // namespace sink
