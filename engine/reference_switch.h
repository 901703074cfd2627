// The switch between fast kernels and the plain reference loops (`--reference`), and the type an operation computes in.
#pragma once

#include "engine/implementation.h"

namespace sink {

// f(zero of the element type, zero of the type to compute in), the latter double in the reference and for F64, else
// float.
template <class F>
void with_compute_type(DType dtype, F&& f) {
  with_real(dtype, [&](auto zero) {
    if constexpr (!std::is_same_v<decltype(zero), double>) {
      if (!use_reference()) return f(zero, float{});
    }
    f(zero, double{});
  });
}

}  // namespace sink
