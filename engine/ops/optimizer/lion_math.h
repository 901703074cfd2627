// The Lion update of one number; a step's constants are folded once.
#pragma once

#include "engine/ops/optimizer/lion.h"
#include "engine/ops/optimizer/update_math.h"

namespace sink {

template <class R>
struct LionConstants {
  R gradient_scale, beta1, beta2, one_minus_beta1, one_minus_beta2;
  R keep;  // 1 - learning_rate weight_decay
  R learning_rate;
  bool skip;  // nothing may change

  SINK_HD LionConstants(const LionSettings& s, const StepScalars& step)
      : gradient_scale(static_cast<R>(sink::gradient_scale(s.clip, step))),
        beta1(static_cast<R>(s.beta1)),
        beta2(static_cast<R>(s.beta2)),
        one_minus_beta1(static_cast<R>(1 - s.beta1)),
        one_minus_beta2(static_cast<R>(1 - s.beta2)),
        keep(static_cast<R>(1 - step.learning_rate * s.weight_decay)),
        learning_rate(static_cast<R>(step.learning_rate)),
        skip(skips_update(step)) {}
};

// One number w with its gradient dw and its momentum m.
template <class R>
SINK_HD void lion_update(const LionConstants<R>& k, R dw, R& w, R& m) {
  R g = dw * k.gradient_scale;
  R c = k.beta1 * m + k.one_minus_beta1 * g;
  R sign = static_cast<R>(c > 0) - static_cast<R>(c < 0);
  w = w * k.keep - k.learning_rate * sign;
  m = k.beta2 * m + k.one_minus_beta2 * g;
}

}  // namespace sink
