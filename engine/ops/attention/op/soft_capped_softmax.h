// The attention operation SoftCappedSoftmax.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

// Softmax of scores that stay between -cap and cap. No row maximum is subtracted, since e^50 and e^-50 are far from the
// limits of float.
struct SoftCappedSoftmax : DividedByOwnSum<AttentionOpDefaults> {
  OperationFormula formula() const {
    return {.whole = "e^t / sum e^t with t = cap tanh(s / cap)",
            .g = "e^(c tanh(x/c))",
            .z = "S",
            .proposed_by = "Gemma Team 2024"};
  }
  Constant cap, inverse_cap;

  SoftCappedSoftmax(double cap = 50) : cap(cap), inverse_cap(1 / cap) {}
  template <class R>
  SINK_HD R g(R x) const {
    return exp_fast(R(cap) * tanh_fast(R(inverse_cap) * x));
  }
  template <class R>
  SINK_HD R dg(R x) const {
    R t = tanh_fast(R(inverse_cap) * x);
    return exp_fast(R(cap) * t) * (R(1) - t * t);
  }
};

}  // namespace sink
