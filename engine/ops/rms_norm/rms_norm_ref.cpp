// Reference: the root-mean-square norm in double.
#include "engine/ops/rms_norm/rms_norm.h"

#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/check_sum.h"
#include "engine/ops/reference_row.h"

namespace sink::ref {

// Breakpoint function: one row of x (C elements) to one row of y. Returns r, the inverse root mean square.
[[gnu::noinline]] double rms_norm_row([[maybe_unused]] std::int64_t row, Row x_C, Row gain_C, std::span<double> y_C,
                                      double epsilon) {
  double mean_square = 0;
  for (double x_c : x_C) mean_square += x_c * x_c / static_cast<double>(x_C.size());
  double r = 1 / std::sqrt(mean_square + epsilon);
  for (std::size_t c = 0; c < x_C.size(); ++c) y_C[c] = x_C[c] * r * gain_C[c];
  return r;
}

// Forward was: y_c = x_c r g_c. Adds to dx_C and dgain_C.
[[gnu::noinline]] void rms_norm_row_backward([[maybe_unused]] std::int64_t row, Row dy_C, Row x_C, Row gain_C, double r,
                                             std::span<double> dx_C, std::span<double> dgain_C) {
  std::size_t C = x_C.size();
  double projection = 0;  // mean_k(dx^_k x_k), dx^_k = dy_k g_k
  for (std::size_t c = 0; c < C; ++c) projection += dy_C[c] * gain_C[c] * x_C[c] / static_cast<double>(C);
  for (std::size_t c = 0; c < C; ++c) dx_C[c] += r * (dy_C[c] * gain_C[c] - x_C[c] * r * r * projection);
  for (std::size_t c = 0; c < C; ++c) dgain_C[c] += dy_C[c] * x_C[c] * r;
}

void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon) {
  std::int64_t C = gain_C.size();
  for (std::int64_t row = 0; row < r.size(); ++row)
    r.data<double>()[row] = rms_norm_row(row, row_of(x, row, C), row_of(gain_C, 0, C), row_of(y, row, C), epsilon);
}

void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                       bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain) {
  if (!accumulate_dx) dx.fill(0);
  if (!accumulate_dgain) dgain_C.fill(0);
  std::int64_t C = gain_C.size();
  for (std::int64_t row = 0; row < r.size(); ++row)
    rms_norm_row_backward(row, row_of(dy, row, C), row_of(x, row, C), row_of(gain_C, 0, C), r.data<double>()[row],
                          row_of(dx, row, C), row_of(dgain_C, 0, C));
}

void add_rms_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, Tensor& u, Tensor& y, Tensor& r,
                  double epsilon) {
  for (std::int64_t i = 0; i < u.size(); ++i) u.data<double>()[i] = a.data<double>()[i] + b.data<double>()[i];
  ref::rms_norm(u, gain_C, y, r, epsilon);
}

void add_rms_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C, const Tensor& r,
                           Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain) {
  if (du.defined()) da.copy_from(du);
  ref::rms_norm_backward(dy, u, gain_C, r, da, du.defined(), dgain_C, accumulate_dgain);
  if (db.defined()) db.copy_from(da);
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

void check_rms_norm(const Tensor& x, const Tensor& gain_C, const Tensor& y, const Tensor& r) {
  std::int64_t C = x.rank() ? x.dim(-1) : 0;
  std::int64_t rows = C ? x.size() / C : 0;
  SINK_CHECK(gain_C.size() == C && y.shape() == x.shape() && r.size() == rows, "rms_norm",
             "the last axis of x must equal the size of the gain, and r hold one number per row: x is " + x.str() +
                 ", gain is " + gain_C.str() + ", y is " + y.str() + ", r is " + r.str());
  bool types_fit = x.dtype() == gain_C.dtype() && r.dtype() == x.dtype() && x.dtype() == accumulate_type(x.dtype()) &&
                   (y.dtype() == x.dtype() || (y.dtype() == DType::BF16 && x.dtype() == DType::F32));
  SINK_CHECK(types_fit, "rms_norm",
             "x, gain and r must be f32 or f64, y of that type or bf16: x is " + x.str() + ", gain is " + gain_C.str() +
                 ", y is " + y.str());
}

}  // namespace

void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon) {
  check_rms_norm(x, gain_C, y, r);
  SINK_SELECT(x, rms_norm)(x, gain_C, y, r, epsilon);
}

void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                       bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain) {
  check_rms_norm(x, gain_C, dy, r);
  check_like("rms_norm_backward", "dx", dx, x);
  check_like("rms_norm_backward", "dgain", dgain_C, gain_C);
  SINK_SELECT(x, rms_norm_backward)(dy, x, gain_C, r, dx, accumulate_dx, dgain_C, accumulate_dgain);
}

void add_rms_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, Tensor& u, Tensor& y, Tensor& r,
                  double epsilon) {
  check_sum("add_rms_norm", a, b, u);
  check_rms_norm(u, gain_C, y, r);
  SINK_SELECT(u, add_rms_norm)(a, b, gain_C, u, y, r, epsilon);
}

void add_rms_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C, const Tensor& r,
                           Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain) {
  check_rms_norm(u, gain_C, dy, r);
  check_sum_gradient("add_rms_norm_backward", u, du, da, db);
  check_like("add_rms_norm_backward", "dgain", dgain_C, gain_C);
  SINK_SELECT(u, add_rms_norm_backward)(dy, du, u, gain_C, r, da, db, dgain_C, accumulate_dgain);
}

}  // namespace sink
