// Rotary embedding, one (position, head) at a time.
#pragma once

#include <cstdint>

#include "engine/dtype.h"

namespace sink::ref {

// Landmark for the debugger: turns the D numbers at position t by the angles of that position. `sign` is -1 to turn
// back.
template <class R, class X>
[[gnu::noinline]] void rotary_row([[maybe_unused]] std::int64_t t, const X* x_D, const R* cos_E, const R* sin_E, R sign,
                                  X* y_D, std::int64_t D) {
  std::int64_t half = D / 2;
#pragma omp simd
  for (std::int64_t d = 0; d < half; ++d) {
    R first = R(x_D[d]), second = R(x_D[d + half]);
    R c = cos_E[d], s = sign * sin_E[d];
    store(y_D[d], first * c - second * s);
    store(y_D[d + half], first * s + second * c);
  }
}

}  // namespace sink::ref
