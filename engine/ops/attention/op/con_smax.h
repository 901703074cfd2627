// The attention operation ConSmax.
#pragma once

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

// Softmax's exponential without its divisor: rows have any sum, and each weight depends on its score alone. In float a
// weight is infinite for scores above 95.
struct ConSmax : AttentionOpDefaults {
  OperationFormula formula() const {
    return {.whole = "e^(s - beta) / gamma", .g = "e^(x - beta) / gamma", .proposed_by = "Liu et al. 2024"};
  }
  Constant log_divisor;

  ConSmax(double beta = 2.5, double gamma = 100) : log_divisor(beta + std::log(gamma)) {}
  SINK_HD auto g(auto x) const { return exp_fast(x - log_divisor); }
};

}  // namespace sink
