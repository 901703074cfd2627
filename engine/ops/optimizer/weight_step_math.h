// The step of one weight; a step's constants are folded once.
#pragma once

#include "engine/ops/optimizer/update_math.h"
#include "engine/ops/optimizer/weight_step.h"

namespace sink {

template <class R>
struct WeightStepConstants {
  R keep;  // 1 - learning_rate weight_decay
  R rate;
  bool skip;  // nothing may change

  SINK_HD WeightStepConstants(const WeightStepSettings& s, const StepScalars& step) {
    double learning_rate = step.learning_rate;
    keep = static_cast<R>(1 - learning_rate * s.weight_decay);
    rate = static_cast<R>(s.by_learning_rate ? learning_rate * s.scale : s.scale);
    skip = skips_update(step);
  }
};

template <class R>
SINK_HD void weight_step_update(const WeightStepConstants<R>& k, R u, R& w) {
  w = w * k.keep - k.rate * u;
}

}  // namespace sink
