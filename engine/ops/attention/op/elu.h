// The attention operation Elu.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

struct Elu : AttentionOpDefaults {
  OperationFormula formula() const {
    return {.whole = "elu(s) + 1: s + 1 above 0, e^s below",
            .g = "elu(x) + 1",
            .proposed_by = "Gu et al. 2025, section 7.4"};
  }
  template <class R>
  SINK_HD static R g(R x) {
    return (x < R(0) ? R(0) : x) + exp_fast(x > R(0) ? R(0) : x);
  }
  template <class R>
  SINK_HD static R dg(R x) {
    return exp_fast(x > R(0) ? R(0) : x);
  }
};

}  // namespace sink
