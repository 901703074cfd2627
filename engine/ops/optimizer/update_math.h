// What every update makes of the scalars of a step, in double: whether it happens at all, and how far gradients are
// scaled down.
#pragma once

#include <cmath>

#include "engine/host_device.h"
#include "engine/ops/optimizer/update.h"

namespace sink {

SINK_HD inline double gradient_norm(const StepScalars& step) { return std::sqrt(step.squared_norm); }

// Nothing may change: the loss or the norm is NaN or infinite.
SINK_HD inline bool skips_update(const StepScalars& step) {
  return !std::isfinite(step.loss) || !std::isfinite(gradient_norm(step));
}

// min(1, clip / (norm + 1e-6)) where norm > clip > 0, else 1.
SINK_HD inline double gradient_scale(double clip, const StepScalars& step) {
  double norm = gradient_norm(step);
  return clip > 0 && norm > clip ? clip / (norm + 1e-6) : 1.0;
}

}  // namespace sink
