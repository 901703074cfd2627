// Elementwise functions in plain loops; `R` is the type to compute in: double for the reference, float for speed.
#pragma once

#include <cstdint>

#include "engine/dtype.h"

namespace sink::ref {

template <class F, class R, class X>
void activation(const X* x, X* y, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) store(y[i], F::f(R(x[i])));
}

// Forward was: y = f(x).
template <class F, class R, class X>
void activation_backward(const X* dy, const X* x, X* dx, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) store(dx[i], R(dy[i]) * F::df(R(x[i])));
}

}  // namespace sink::ref
