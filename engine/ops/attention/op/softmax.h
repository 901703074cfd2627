// The attention operation Softmax.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

struct Softmax : DividedByOwnSum<Exponential> {
  OperationFormula formula() const {
    return {.whole = "e^s / sum e^s", .g = "e^x", .z = "S", .m = "row maximum", .proposed_by = "Vaswani et al. 2017"};
  }
};

}  // namespace sink
