// The attention operation LinearMaxAbs.
#pragma once

#include "engine/ops/attention/op/linear.h"

namespace sink {

struct LinearMaxAbs : Linear {
  OperationFormula formula() const {
    return {.whole = "s / max(|sum s|, 1)", .g = "x", .z = "max(|S|, 1)", .proposed_by = "Sun et al. 2023"};
  }
  static constexpr Normalizer normalizer = Normalizer::sum;
  template <class R>
  SINK_HD static R z(R S) {
    using std::abs;
    R size = abs(S);
    return size < R(1) ? R(1) : size;
  }
  template <class R>
  SINK_HD static R dz(R S) {
    using std::abs, std::copysign;
    return abs(S) > R(1) ? copysign(R(1), S) : R(0);
  }
};

}  // namespace sink
