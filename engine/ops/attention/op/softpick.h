// The attention operation Softpick.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

// Numerator and denominator are multiplied by u = e^-m with m = max(0, row maximum), so that e^s cannot overflow.
struct Softpick : AttentionOpDefaults {
  OperationFormula formula() const {
    return {.whole = "max(e^s - 1, 0) / (sum |e^s - 1| + 1e-8)",
            .g = "max(e^x - u, 0)",
            .r = "|e^x - u|",
            .z = "S + 1e-8 u",
            .m = "max(0, row maximum)",
            .proposed_by = "Zuhri et al. 2025"};
  }
  static constexpr Shift shift = Shift::row_max;
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_separate_normalizer = true;
  static constexpr bool has_row_functions = true;
  template <class R>
  SINK_HD static R m_of_max(R s) {
    return s < R(0) ? R(0) : s;
  }

  template <class R>
  struct Row {
    R u;
    SINK_HD R g(R x) const {
      R above = exp_fast(x) - u;
      return above < R(0) ? R(0) : above;
    }
    SINK_HD R dg(R x) const {
      R e = exp_fast(x);
      return e > u ? e : R(0);
    }
    SINK_HD R r(R x) const {
      using std::abs;
      return abs(exp_fast(x) - u);
    }
    SINK_HD R dr(R x) const {
      R e = exp_fast(x);
      return (e > u ? e : R(0)) - (e < u ? e : R(0));
    }
    SINK_HD R r_factor(R d) const { return exp_fast(d); }
    SINK_HD R z(R S) const { return S + R(kSumEpsilon) * u; }
    SINK_HD R dz(R) const { return R(1); }
  };
  template <class R>
  SINK_HD static Row<R> row(R m) {
    return {exp_fast(-m)};
  }
};

}  // namespace sink
