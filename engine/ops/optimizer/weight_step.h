// A step of the weights along a direction u, with decoupled weight decay, element by element:
//   w = w (1 - learning_rate weight_decay) - rate u,   rate = learning_rate scale, or scale alone
// for optimizers that make u first (train/optimizers/). Nothing changes where the loss or the norm is NaN or infinite.
#pragma once

#include "engine/ops/optimizer/update_math.h"

namespace sink {

struct WeightStepSettings {
  double weight_decay = 0;
  double scale = 1;
  bool by_learning_rate = true;  // false: u has the size of the learning rate

  SINK_HD double rate(const StepScalars& step) const { return by_learning_rate ? step.learning_rate * scale : scale; }
};

}  // namespace sink

namespace sink::ref {

[[gnu::noinline]] inline void weight_step_element([[maybe_unused]] std::int64_t i, const WeightStepSettings& settings,
                                                  const StepScalars& step, double u, double& w) {
  double keep = 1 - step.learning_rate * settings.weight_decay, rate = settings.rate(step);
  w = w * keep - rate * u;
}

}  // namespace sink::ref

namespace sink {

struct WeightStep : ElementUpdate {
  static constexpr const char *name = "weight_step", *tensors = "u and w";
  using Settings = WeightStepSettings;
  static constexpr auto reference = ref::weight_step_element;

  template <class R>
  struct Constants : StepConstants<R> {
    R rate;

    SINK_HD Constants(const Settings& s, const StepScalars& step)
        : StepConstants<R>(s, step), rate(static_cast<R>(s.rate(step))) {}
  };

  template <class R>
  SINK_HD static void element(const Constants<R>& k, R u, R& w) {
    w = w * k.keep - k.rate * u;
  }
};

// u, w: one shape, F32 or F64. `copy`: w rounded to BF16, which is kept up to date with it; or undefined.
inline void weight_step(const WeightStepSettings& settings, const Tensor& step_scalars, const Tensor& u, Tensor& w,
                        Tensor& copy) {
  update_elements<WeightStep>(settings, step_scalars, u, copy, w);
}

}  // namespace sink
