// The attention operation ClippedSoftmax.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

struct ClippedSoftmax : Exponential {
  OperationFormula formula() const {
    return {.whole = "clip((eta - gamma) softmax(s) + gamma, 0, 1)",
            .g = "e^x",
            .z = "S",
            .m = "row maximum",
            .post = "clip",
            .proposed_by = "Bondarenko et al. 2023"};
  }
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_post = true;
  Constant gamma, stretch;

  ClippedSoftmax(double gamma = -0.03, double eta = 1) : gamma(gamma), stretch(eta - gamma) {}
  SINK_HD static auto z(auto S) { return S; }
  template <class R>
  SINK_HD R post(R w) const {
    R y = R(stretch) * w + R(gamma);
    y = y < R(0) ? R(0) : y;
    return y > R(1) ? R(1) : y;
  }
  template <class R>
  SINK_HD R dpost(R w) const {
    R y = R(stretch) * w + R(gamma);
    return (y >= R(0)) & (y <= R(1)) ? R(stretch) : R(0);
  }
};

}  // namespace sink
