// One element. R: float or double.
#pragma once

#include "engine/vector_math.h"

namespace sink {

template <class R>
SINK_HD R soft_capped(R x, R cap) {
  return cap * tanh_fast(x / cap);
}

template <class R>
SINK_HD R soft_cap_slope(R y, R cap) {
  const R t = y / cap;
  return 1 - t * t;
}

}  // namespace sink
