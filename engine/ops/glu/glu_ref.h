// The gated unit, one row at a time; `R` is the type to compute in: double for the reference, float for speed.
#pragma once

#include <cstdint>

#include "engine/dtype.h"

namespace sink::ref {

template <class Function, class R, class X>
void glu_row(const X* gate_F, const X* up_F, X* y_F, std::int64_t F) {
#pragma omp simd
  for (std::int64_t f = 0; f < F; ++f) store(y_F[f], Function::f(R(gate_F[f])) * R(up_F[f]));
}

// Forward was: y_f = F(gate_f) up_f.
template <class Function, class R, class X>
void glu_row_backward(const X* dy_F, const X* gate_F, const X* up_F, X* dgate_F, X* dup_F, std::int64_t F) {
#pragma omp simd
  for (std::int64_t f = 0; f < F; ++f) {
    R dy = R(dy_F[f]), gate = R(gate_F[f]), up = R(up_F[f]);
    store(dup_F[f], dy * Function::f(gate));
    store(dgate_F[f], dy * up * Function::df(gate));
  }
}

}  // namespace sink::ref
