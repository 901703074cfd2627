// SwiGLU, one row at a time; `R` is the type to compute in.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/vector_math.h"

namespace sink::ref {

template <class R, class X>
void swiglu_row(const X* gate_F, const X* up_F, X* y_F, std::int64_t F) {
#pragma omp simd
  for (std::int64_t f = 0; f < F; ++f) {
    R gate = R(gate_F[f]), up = R(up_F[f]);
    put(y_F[f], gate * logistic_fast(gate) * up);
  }
}

// Forward was: y_f = silu(gate_f) up_f.
template <class R, class X>
void swiglu_row_backward(const X* dy_F, const X* gate_F, const X* up_F, X* dgate_F, X* dup_F, std::int64_t F) {
#pragma omp simd
  for (std::int64_t f = 0; f < F; ++f) {
    R dy = R(dy_F[f]), gate = R(gate_F[f]), up = R(up_F[f]);
    R l = logistic_fast(gate);
    put(dup_F[f], dy * gate * l);
    put(dgate_F[f], dy * up * l * (1 + gate * (1 - l)));
  }
}

}  // namespace sink::ref
