// What every update makes of the scalars of a step, in double: whether it happens at all, how far gradients are scaled
// down, and how much of the weights remains after decay.
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

// Whether the input of an update is a gradient, which is clipped.
template <class Settings>
concept HasClip = requires(const Settings& settings) {
  settings.clip;
};

// What the constants of an update begin with. They are computed once per step, in double.
template <class R>
struct StepConstants {
  R scale = 1;  // of the input
  R keep = 1;   // 1 - learning_rate weight_decay
  bool skip;    // nothing may change

  template <class Settings>
  SINK_HD StepConstants(const Settings& s, const StepScalars& step) : skip(skips_update(step)) {
    if constexpr (HasClip<Settings>) scale = static_cast<R>(gradient_scale(s.clip, step));
    if constexpr (requires { s.weight_decay; }) keep = static_cast<R>(1 - step.learning_rate * s.weight_decay);
  }
};

// U::element of an input that is not scaled yet.
template <class U, class R, class... X>
SINK_HD auto update_element(const typename U::template Constants<R>& k, R input, X&... x) {
  if constexpr (HasClip<typename U::Settings>)
    return U::element(k, input * k.scale, x...);
  else
    return U::element(k, input, x...);
}

// What an update is unless its struct says otherwise.
struct ElementUpdate {
  static constexpr bool writes_copy = true;  // of the weights, the first tensor in place
};

}  // namespace sink
