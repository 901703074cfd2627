// Root-mean-square norm, one row at a time. `Sum` is what sums are taken in: double for the reference, float for speed.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/dtype.h"

namespace sink::ref {

// Landmark for the debugger: one row of x (C numbers) to one row of y. Returns r, the inverse root mean square.
template <class Sum, class X, class Y>
[[gnu::noinline]] X rms_norm_row([[maybe_unused]] std::int64_t row, const X* x_C, const X* gain_C, Y* y_C,
                                 std::int64_t C, double epsilon) {
  Sum sum_of_squares = 0;
#pragma omp simd reduction(+ : sum_of_squares)
  for (std::int64_t c = 0; c < C; ++c) sum_of_squares += Sum(x_C[c]) * Sum(x_C[c]);
  Sum mean_square = sum_of_squares / Sum(C);
  X r = X(1 / std::sqrt(mean_square + Sum(epsilon)));
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c) store(y_C[c], x_C[c] * r * gain_C[c]);
  return r;
}

// Forward was: y_c = x_c r g_c. Adds this row's share to dgain_C.
template <class Sum, class X, class Y>
[[gnu::noinline]] void rms_norm_row_backward([[maybe_unused]] std::int64_t row, const Y* dy_C, const X* x_C,
                                             const X* gain_C, X r, X* dx_C, bool accumulate, X* dgain_C,
                                             std::int64_t C) {
  Sum projection = 0;  // sum_k dx^_k x_k
#pragma omp simd reduction(+ : projection)
  for (std::int64_t c = 0; c < C; ++c) projection += Sum(X(dy_C[c])) * Sum(gain_C[c]) * Sum(x_C[c]);
  X shrink = X(projection / Sum(C)) * r * r;
  if (accumulate) {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c) dx_C[c] += r * (X(dy_C[c]) * gain_C[c] - x_C[c] * shrink);
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c) dx_C[c] = r * (X(dy_C[c]) * gain_C[c] - x_C[c] * shrink);
  }
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c) dgain_C[c] += X(dy_C[c]) * x_C[c] * r;
}

}  // namespace sink::ref
