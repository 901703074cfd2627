// The attention operation Relu.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

struct Relu : AttentionOpDefaults {
  OperationFormula formula() const {
    return {.whole = "max(s, 0)", .g = "max(x, 0)", .proposed_by = "Guo et al. 2024"};
  }
  template <class R>
  SINK_HD static R g(R x) {
    return x < R(0) ? R(0) : x;
  }
  template <class R>
  SINK_HD static R dg(R x) {
    return x > R(0) ? R(1) : R(0);
  }
};

}  // namespace sink
