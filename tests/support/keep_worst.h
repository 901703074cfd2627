// The largest of several errors, of which none may be NaN.
#pragma once

#include <cmath>

namespace sink {

// Raises `worst` to `error`. NaN counts as infinity, so that it is never a small error: std::max(worst, NaN) is worst.
inline void keep_worst(double& worst, double error) {
  if (!(error <= worst)) worst = std::isfinite(error) ? error : INFINITY;
}

}  // namespace sink
