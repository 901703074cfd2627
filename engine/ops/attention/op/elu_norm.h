// The attention operation EluNorm.
#pragma once

#include "engine/ops/attention/op/elu.h"

namespace sink {

struct EluNorm : DividedBySumOf<Elu> {
  OperationFormula formula() const {
    return {.whole = "(elu(s) + 1) / (sum (elu(s) + 1) + 1e-8)",
            .g = "elu(x) + 1",
            .z = "S + 1e-8",
            .proposed_by = "Gu et al. 2025, section 7.4"};
  }
};

}  // namespace sink
