// The attention operation SigmoidNorm.
#pragma once

#include "engine/ops/attention/op/sigmoid.h"

namespace sink {

struct SigmoidNorm : DividedBySumOf<Sigmoid> {
  OperationFormula formula() const {
    return {.whole = "sigmoid(s) / (sum sigmoid(s) + 1e-8)",
            .g = "1 / (1 + e^-x)",
            .z = "S + 1e-8",
            .proposed_by = "Gu et al. 2025, section 7.4"};
  }
};

}  // namespace sink
