// The attention operation PNormSigmoid.
#pragma once

#include "engine/ops/attention/op/sigmoid.h"

namespace sink {

struct PNormSigmoid : Sigmoid {
  OperationFormula formula() const {
    return {.whole = "sigmoid(s) / (sum sigmoid(s)^p + 1e-8)^(1/p)",
            .g = "1 / (1 + e^-x)",
            .r = "g^p",
            .z = "(S + 1e-8)^(1/p)",
            .proposed_by = "Gu et al. 2025, appendix D.4"};
  }
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_separate_normalizer = true;
  Constant p, root, root_minus_1;

  PNormSigmoid(double p = 2) : p(p), root(1 / p), root_minus_1(1 / p - 1) {}
  template <class R>
  SINK_HD R r(R x) const {
    return exp_fast(R(p) * log_logistic_fast(x));
  }
  template <class R>
  SINK_HD R dr(R x) const {
    return R(p) * r(x) * (R(1) - logistic_fast(x));
  }
  template <class R>
  SINK_HD R z(R S) const {
    using std::pow;
    return pow(S + R(kSumEpsilon), R(root));
  }
  template <class R>
  SINK_HD R dz(R S) const {
    using std::pow;
    return R(root) * pow(S + R(kSumEpsilon), R(root_minus_1));
  }
};

}  // namespace sink
