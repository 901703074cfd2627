// Gradient check: compares backward with central differences of the forward, in double.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/var.h"

namespace sink {

struct GradCheckResult {
  double worst = 0;   // largest |analytic - numeric| / max(1, largest |numeric|) over all inputs
  std::string where;  // "input 1, element 17: analytic 0.25, numeric 0.5"
};

// f maps the inputs (F64, requiring gradients) to one output of any shape. The upstream gradient is random, never ones,
// so that a rule that ignores it fails. Uses fourth-order central differences of step `step`.
GradCheckResult check_gradients(const std::function<Var()>& f, const std::vector<Var>& inputs, double step = 1e-3);

}  // namespace sink
