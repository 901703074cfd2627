// The attention operation PNormExp.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

struct PNormExp : Exponential {
  OperationFormula formula() const {
    return {.whole = "e^s / (sum e^(p s))^(1/p)",
            .g = "e^x",
            .r = "g^p",
            .z = "S^(1/p)",
            .m = "row maximum",
            .proposed_by = "Gu et al. 2025, appendix D.4"};
  }
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_separate_normalizer = true;
  Constant p, root, root_minus_1;

  PNormExp(double p = 2) : p(p), root(1 / p), root_minus_1(1 / p - 1) {}
  SINK_HD auto r(auto x) const { return exp_fast(p * x); }
  SINK_HD auto r_factor(auto d) const { return r(d); }
  template <class R>
  SINK_HD R z(R S) const {
    using std::pow;
    return pow(S, R(root));
  }
  template <class R>
  SINK_HD R dz(R S) const {
    using std::pow;
    return R(root) * pow(S, R(root_minus_1));
  }
};

}  // namespace sink
