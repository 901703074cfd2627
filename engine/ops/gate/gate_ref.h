// The output gate in plain loops, one row at a time: G groups of `width` numbers. `R` is the type to compute in.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/vector_math.h"

namespace sink::ref {

template <class R, class X>
void gate_row(const X* o_E, const X* gate_G, X* y_E, std::int64_t G, std::int64_t width) {
  for (std::int64_t n = 0; n < G; ++n) {
    R l = logistic_fast(R(gate_G[n]));
    for (std::int64_t e = n * width; e < (n + 1) * width; ++e) store(y_E[e], R(o_E[e]) * l);
  }
}

// Forward was: y_e = o_e logistic(g_n).
template <class R, class X>
void gate_row_backward(const X* dy_E, const X* o_E, const X* gate_G, X* do_E, X* dgate_G, std::int64_t G,
                       std::int64_t width) {
  for (std::int64_t n = 0; n < G; ++n) {
    R l = logistic_fast(R(gate_G[n])), dl = 0;
    for (std::int64_t e = n * width; e < (n + 1) * width; ++e) {
      store(do_E[e], R(dy_E[e]) * l);
      dl += R(dy_E[e]) * R(o_E[e]);
    }
    store(dgate_G[n], dl * l * (1 - l));
  }
}

}  // namespace sink::ref
