// The attention operation Linear.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

struct Linear : AttentionOpDefaults {
  OperationFormula formula() const { return {.whole = "s", .g = "x", .proposed_by = "Gu et al. 2025, section 7.4"}; }
  SINK_HD static auto g(auto x) { return x; }
};

}  // namespace sink
