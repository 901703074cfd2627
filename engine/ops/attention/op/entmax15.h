// The attention operation Entmax15.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

struct Entmax15 : SumsToOne<AttentionOpDefaults> {
  OperationFormula formula() const {
    return {.whole = "(max(s - m, 0) / 2)^2, with the threshold m at which a row sums to one",
            .g = "(max(x, 0) / 2)^2",
            .r = "g'",
            .m = "threshold",
            .proposed_by = "Peters et al. 2019"};
  }
  static constexpr Shift shift = Shift::threshold;
  template <class R>
  SINK_HD static R g(R x) {
    R half = dg(x);
    return half * half;
  }
  template <class R>
  SINK_HD static R dg(R x) {
    return (x < R(0) ? R(0) : x) * R(0.5f);
  }
  template <class R>
  SINK_HD static R threshold_start(R s) {
    return s - R(2);
  }
};

}  // namespace sink
