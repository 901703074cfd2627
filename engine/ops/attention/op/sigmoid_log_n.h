// The attention operation SigmoidLogN.
#pragma once

#include "engine/ops/attention/op/sigmoid.h"

namespace sink {

struct SigmoidLogN : Sigmoid {
  OperationFormula formula() const {
    return {.whole = "sigmoid(s - log n)", .g = "1 / (1 + e^-x)", .m = "log n", .proposed_by = "Ramapuram et al. 2024"};
  }
  static constexpr Shift shift = Shift::key_count;
  SINK_HD static auto m_of_count(auto n) {
    using std::log;
    return log(n);
  }
};

}  // namespace sink
