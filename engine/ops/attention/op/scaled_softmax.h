// The attention operation ScaledSoftmax.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

// The proxy is the softmax weight: the values that the paper reports are possible only with that.
struct ScaledSoftmax : Exponential {
  OperationFormula formula() const {
    return {.whole = "alpha softmax(s)",
            .g = "e^x",
            .z = "S / alpha",
            .m = "row maximum",
            .proposed_by = "Gu et al. 2025, section 7.4"};
  }
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_proxy_divisor = true;
  Constant alpha;

  ScaledSoftmax(double alpha = 2) : alpha(alpha) {}
  SINK_HD auto z(auto S) const { return S / alpha; }
  SINK_HD auto proxy_divisor(auto A, auto) const { return decltype(A)(alpha); }
};

}  // namespace sink
