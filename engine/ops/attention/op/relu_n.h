// The attention operation ReluN.
#pragma once

#include "engine/ops/attention/op/relu.h"

namespace sink {

struct ReluN : Relu {
  OperationFormula formula() const {
    return {.whole = "max(s, 0) / n", .g = "max(x, 0)", .z = "n", .proposed_by = "Wortsman et al. 2023"};
  }
  static constexpr Normalizer normalizer = Normalizer::key_count;
  SINK_HD static auto z(auto n) { return n; }
};

}  // namespace sink
