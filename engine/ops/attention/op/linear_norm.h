// The attention operation LinearNorm.
#pragma once

#include "engine/ops/attention/op/linear.h"

namespace sink {

struct LinearNorm : DividedBySumOf<Linear> {
  OperationFormula formula() const {
    return {.whole = "s / (sum s + 1e-8)", .g = "x", .z = "S + 1e-8", .proposed_by = "Katharopoulos et al. 2020"};
  }
  static constexpr bool has_proxy_divisor = true;
  // The proxy is |s_ij| / (sum |s_ij| + 1e-8), as in the paper: z contains the 1e-8 already. It equals the weight where
  // no score is negative.
  template <class R>
  SINK_HD static R proxy_divisor(R absolute_sum, R z) {
    using std::abs;
    return absolute_sum + R(kSumEpsilon) / abs(z);
  }
};

}  // namespace sink
