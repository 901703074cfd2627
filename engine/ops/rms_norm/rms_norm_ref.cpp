#include "engine/ops/rms_norm/rms_norm_ref.h"

#include <cmath>

namespace sink::ref {

// Landmark for the debugger: one row of x (C numbers) to one row of y. Returns r, the inverse root mean square.
[[gnu::noinline]] double rms_norm_row([[maybe_unused]] std::int64_t row, const double* x_C, const double* gain_C,
                                      double* y_C, std::int64_t C, double epsilon) {
  double sum_of_squares = 0;
  for (std::int64_t c = 0; c < C; ++c) sum_of_squares += x_C[c] * x_C[c];
  double r = 1 / std::sqrt(sum_of_squares / static_cast<double>(C) + epsilon);
  for (std::int64_t c = 0; c < C; ++c) y_C[c] = x_C[c] * r * gain_C[c];
  return r;
}

// Forward was: y_c = x_c r g_c. Adds to dx_C and dgain_C.
[[gnu::noinline]] void rms_norm_row_backward([[maybe_unused]] std::int64_t row, const double* dy_C, const double* x_C,
                                             const double* gain_C, double r, double* dx_C, double* dgain_C,
                                             std::int64_t C) {
  double projection = 0;  // mean_k(dx^_k x_k), dx^_k = dy_k g_k
  for (std::int64_t c = 0; c < C; ++c) projection += dy_C[c] * gain_C[c] * x_C[c] / static_cast<double>(C);
  for (std::int64_t c = 0; c < C; ++c) dx_C[c] += r * (dy_C[c] * gain_C[c] - x_C[c] * r * r * projection);
  for (std::int64_t c = 0; c < C; ++c) dgain_C[c] += dy_C[c] * x_C[c] * r;
}

void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon) {
  std::int64_t C = gain_C.size();
  for (std::int64_t row = 0; row < r.size(); ++row)
    r.data<double>()[row] =
        rms_norm_row(row, x.data<double>() + row * C, gain_C.data<double>(), y.data<double>() + row * C, C, epsilon);
}

void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                       bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain) {
  if (!accumulate_dx) dx.fill(0);
  if (!accumulate_dgain) dgain_C.fill(0);
  std::int64_t C = gain_C.size();
  for (std::int64_t row = 0; row < r.size(); ++row)
    rms_norm_row_backward(row, dy.data<double>() + row * C, x.data<double>() + row * C, gain_C.data<double>(),
                          r.data<double>()[row], dx.data<double>() + row * C, dgain_C.data<double>(), C);
}

void add_rms_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, Tensor& u, Tensor& y, Tensor& r,
                  double epsilon) {
  for (std::int64_t i = 0; i < u.size(); ++i) u.data<double>()[i] = a.data<double>()[i] + b.data<double>()[i];
  rms_norm(u, gain_C, y, r, epsilon);
}

void add_rms_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C, const Tensor& r,
                           Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain) {
  if (du.defined()) da.copy_from(du);
  rms_norm_backward(dy, u, gain_C, r, da, du.defined(), dgain_C, accumulate_dgain);
  if (db.defined()) db.copy_from(da);
}

}  // namespace sink::ref
