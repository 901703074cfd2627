// One head's vector, added to the T positions of a sequence; and its gradient, coordinate by coordinate.
#pragma once

#include <cstdint>

#include "engine/dtype.h"

namespace sink::ref {

template <class R, class V>
void add_head_vector(const R* o_TD, const V* v_D, R* y_TD, std::int64_t T, std::int64_t D) {
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t d = 0; d < D; ++d) store(y_TD[t * D + d], o_TD[t * D + d] + v_D[d]);
}

// The vector of head h. Forward was: y = o + v.
template <class R, class V>
void add_head_vector_backward(const R* dy_BHTD, V* dv_HD, std::int64_t h, std::int64_t B, std::int64_t H,
                              std::int64_t T, std::int64_t D, bool accumulate) {
  for (std::int64_t d = 0; d < D; ++d) {
    double sum = 0;
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t t = 0; t < T; ++t) sum += dy_BHTD[((b * H + h) * T + t) * D + d];
    V& dv = dv_HD[h * D + d];
    dv = static_cast<V>(accumulate ? dv + sum : sum);
  }
}

}  // namespace sink::ref
