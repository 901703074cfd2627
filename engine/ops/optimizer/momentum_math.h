// The momentum of one number; a step's constants are folded once.
#pragma once

#include "engine/ops/optimizer/momentum.h"
#include "engine/ops/optimizer/update_math.h"

namespace sink {

template <class R>
struct MomentumConstants {
  R gradient_scale, momentum;
  bool skip;  // nothing may change

  SINK_HD MomentumConstants(const MomentumSettings& s, const StepScalars& step)
      : gradient_scale(static_cast<R>(sink::gradient_scale(s.clip, step))),
        momentum(static_cast<R>(s.momentum)),
        skip(skips_update(step)) {}
};

// The new m of a number with gradient dw; returns u.
template <class R>
SINK_HD R momentum_update(const MomentumConstants<R>& k, R dw, R& m) {
  R g = dw * k.gradient_scale;
  m = k.momentum * m + g;
  return g + k.momentum * m;
}

}  // namespace sink
