// Layer norm, one row at a time. `Sum` is what sums are taken in: double for the reference, float for speed.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/dtype.h"

namespace sink::ref {

template <class X>
struct LayerNormRow {
  X mean, r;
};

// Landmark for the debugger: one row of x (C numbers) to one row of y.
template <class Sum, class X, class Y>
[[gnu::noinline]] LayerNormRow<X> layer_norm_row([[maybe_unused]] std::int64_t row, const X* x_C, const X* gain_C,
                                                 const X* bias_C, Y* y_C, std::int64_t C, double epsilon) {
  Sum sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < C; ++c) sum += Sum(x_C[c]);
  Sum mean = sum / Sum(C);
  Sum sum_of_squares = 0;  // of the differences: E[x^2] - mean^2 would cancel
#pragma omp simd reduction(+ : sum_of_squares)
  for (std::int64_t c = 0; c < C; ++c) sum_of_squares += (Sum(x_C[c]) - mean) * (Sum(x_C[c]) - mean);
  LayerNormRow<X> saved{X(mean), X(1 / std::sqrt(sum_of_squares / Sum(C) + Sum(epsilon)))};
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c) store(y_C[c], (x_C[c] - saved.mean) * saved.r * gain_C[c] + bias_C[c]);
  return saved;
}

// Forward was: y_c = x^_c g_c + b_c. Adds this row's share to dgain_C and dbias_C.
template <class Sum, class X, class Y>
[[gnu::noinline]] void layer_norm_row_backward([[maybe_unused]] std::int64_t row, const Y* dy_C, const X* x_C,
                                               const X* gain_C, LayerNormRow<X> saved, X* dx_C, bool accumulate,
                                               X* dgain_C, X* dbias_C, std::int64_t C) {
  auto [mean, r] = saved;
  Sum sum = 0, projection = 0;  // sum_k dx^_k, sum_k dx^_k x^_k
#pragma omp simd reduction(+ : sum, projection)
  for (std::int64_t c = 0; c < C; ++c) {
    Sum dxhat = Sum(X(dy_C[c])) * Sum(gain_C[c]);
    sum += dxhat;
    projection += dxhat * Sum((x_C[c] - mean) * r);
  }
  X shift = X(sum / Sum(C)), shrink = X(projection / Sum(C));
  if (accumulate) {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c) dx_C[c] += r * (X(dy_C[c]) * gain_C[c] - shift - (x_C[c] - mean) * r * shrink);
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c) dx_C[c] = r * (X(dy_C[c]) * gain_C[c] - shift - (x_C[c] - mean) * r * shrink);
  }
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c) {
    dgain_C[c] += X(dy_C[c]) * ((x_C[c] - mean) * r);
    dbias_C[c] += X(dy_C[c]);
  }
}

}  // namespace sink::ref
