// The AdamW update of one number; a step's constants are folded once.
#pragma once

#include <cmath>

#include "engine/ops/optimizer/adamw.h"
#include "engine/ops/optimizer/update_math.h"

namespace sink {

template <class R>
struct AdamwConstants {
  R gradient_scale, beta1, beta2, one_minus_beta1, one_minus_beta2;
  R keep;               // 1 - learning_rate weight_decay
  R step_size;          // learning_rate / (1 - beta1^update)
  R second_correction;  // 1 / sqrt(1 - beta2^update)
  R epsilon;
  bool skip;  // nothing may change

  SINK_HD AdamwConstants(const AdamwSettings& s, const StepScalars& step)
      : beta1(static_cast<R>(s.beta1)),
        beta2(static_cast<R>(s.beta2)),
        one_minus_beta1(static_cast<R>(1 - s.beta1)),
        one_minus_beta2(static_cast<R>(1 - s.beta2)),
        epsilon(static_cast<R>(s.epsilon)) {
    double learning_rate = step.learning_rate, update = step.update;
    gradient_scale = static_cast<R>(sink::gradient_scale(s.clip, step));
    keep = static_cast<R>(1 - learning_rate * s.weight_decay);
    step_size = static_cast<R>(learning_rate / (1 - std::pow(s.beta1, update)));
    second_correction = static_cast<R>(1 / std::sqrt(1 - std::pow(s.beta2, update)));
    skip = skips_update(step);
  }
};

// One number w with its gradient dw and its moments m and v.
template <class R>
SINK_HD void adamw_update(const AdamwConstants<R>& k, R dw, R& w, R& m, R& v) {
  R g = dw * k.gradient_scale;
  m = k.beta1 * m + k.one_minus_beta1 * g;
  v = k.beta2 * v + k.one_minus_beta2 * g * g;
  w = w * k.keep - k.step_size * m / (std::sqrt(v) * k.second_correction + k.epsilon);
}

}  // namespace sink
