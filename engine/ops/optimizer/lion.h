// One Lion update (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2) with decoupled
// weight decay, element by element, with g the gradient clipped as in adamw.h:
//   c = beta1 m + (1 - beta1) g
//   w = w (1 - learning_rate weight_decay) - learning_rate sign(c)      (sign(0) = 0)
//   m = beta2 m + (1 - beta2) g
// Every weight moves by the learning rate, whatever its gradient's size. Nothing changes where the loss or the norm is
// NaN or infinite.
#pragma once

#include "engine/ops/optimizer/update_math.h"

namespace sink {

struct LionSettings {
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  double clip = 0;  // the largest norm of all gradients; 0: any
};

}  // namespace sink

namespace sink::ref {

[[gnu::noinline]] inline void lion_element([[maybe_unused]] std::int64_t i, const LionSettings& settings,
                                           const StepScalars& step, double g, double& w, double& m) {
  double c = settings.beta1 * m + (1 - settings.beta1) * g, sign = c > 0 ? 1 : c < 0 ? -1 : 0;
  w = w * (1 - step.learning_rate * settings.weight_decay) - step.learning_rate * sign;
  m = settings.beta2 * m + (1 - settings.beta2) * g;
}

}  // namespace sink::ref

namespace sink {

struct Lion : ElementUpdate {
  static constexpr const char *name = "lion", *tensors = "dw, w and m", *state[]{"momentum"};
  using Settings = LionSettings;
  static constexpr auto reference = ref::lion_element;

  template <class R>
  struct Constants : StepConstants<R> {
    R beta1, beta2, one_minus_beta1, one_minus_beta2, learning_rate;

    SINK_HD Constants(const Settings& s, const StepScalars& step)
        : StepConstants<R>(s, step),
          beta1(static_cast<R>(s.beta1)),
          beta2(static_cast<R>(s.beta2)),
          one_minus_beta1(static_cast<R>(1 - s.beta1)),
          one_minus_beta2(static_cast<R>(1 - s.beta2)),
          learning_rate(static_cast<R>(step.learning_rate)) {}
  };

  template <class R>
  SINK_HD static void element(const Constants<R>& k, R g, R& w, R& m) {
    R c = k.beta1 * m + k.one_minus_beta1 * g;
    R sign = static_cast<R>(c > 0) - static_cast<R>(c < 0);
    w = w * k.keep - k.learning_rate * sign;
    m = k.beta2 * m + k.one_minus_beta2 * g;
  }
};

// w, dw, m: one shape, F32 or F64. `copy`: w rounded to BF16, which is kept up to date with it; or undefined.
inline void lion(const LionSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m,
                 Tensor& copy) {
  update_elements<Lion>(settings, step_scalars, dw, copy, w, m);
}

}  // namespace sink
