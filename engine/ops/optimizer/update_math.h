// What every update makes of the numbers of a step, in double: whether it happens at all, and how far gradients are
// scaled down.
#pragma once

#include <cmath>

#include "engine/host_device.h"
#include "engine/ops/optimizer/update.h"

namespace sink {

SINK_HD inline double gradient_norm(const double* numbers) { return std::sqrt(numbers[UpdateNumber::squared_norm]); }

// Nothing may change: the loss or the norm is NaN or infinite.
SINK_HD inline bool skips_update(const double* numbers) {
  return !std::isfinite(numbers[UpdateNumber::loss]) || !std::isfinite(gradient_norm(numbers));
}

// min(1, clip / (norm + 1e-6)) where norm > clip > 0, else 1.
SINK_HD inline double gradient_scale(double clip, const double* numbers) {
  double norm = gradient_norm(numbers);
  return clip > 0 && norm > clip ? clip / (norm + 1e-6) : 1.0;
}

}  // namespace sink
