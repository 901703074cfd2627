// The attention operation Sigmoid.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

struct Sigmoid : AttentionOpDefaults {
  OperationFormula formula() const {
    return {.whole = "1 / (1 + e^-s)", .g = "1 / (1 + e^-x)", .proposed_by = "Gu et al. 2025, section 7.4"};
  }
  SINK_HD static auto g(auto x) { return logistic_fast(x); }
};

}  // namespace sink
