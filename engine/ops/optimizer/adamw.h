// One AdamW update with decoupled weight decay (Loshchilov and Hutter 2019), clipped by the norm of all gradients,
// element by element:
//   g = dw min(1, clip / (norm + 1e-6)) where norm > clip > 0, else dw
//   m = beta1 m + (1 - beta1) g         m^ = m / (1 - beta1^update)
//   v = beta2 v + (1 - beta2) g^2       v^ = v / (1 - beta2^update)
//   w = w (1 - learning_rate weight_decay) - learning_rate m^ / (sqrt(v^) + epsilon)
// Nothing changes where the loss or the norm is NaN or infinite (engine/ops/optimizer/update.h).
#pragma once

#include "engine/ops/optimizer/update_math.h"

namespace sink {

struct AdamwSettings {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0;
  double clip = 0;  // the largest norm of all gradients; 0: any
};

}  // namespace sink

namespace sink::ref {

// Breakpoint function: element i of a tensor, w, with its clipped gradient g and its moments m and v. The formulas are
// written as above; Adamw::element simplifies them.
[[gnu::noinline]] inline void adamw_element([[maybe_unused]] std::int64_t i, const AdamwSettings& settings,
                                            const StepScalars& step, double g, double& w, double& m, double& v) {
  m = settings.beta1 * m + (1 - settings.beta1) * g;
  v = settings.beta2 * v + (1 - settings.beta2) * g * g;
  double m_hat = m / (1 - std::pow(settings.beta1, step.update)),
         v_hat = v / (1 - std::pow(settings.beta2, step.update));
  w = w * (1 - step.learning_rate * settings.weight_decay) -
      step.learning_rate * m_hat / (std::sqrt(v_hat) + settings.epsilon);
}

}  // namespace sink::ref

namespace sink {

struct Adamw : ElementUpdate {
  static constexpr const char *name = "adamw", *tensors = "dw, w, m and v", *state[]{"first_moment", "second_moment"};
  using Settings = AdamwSettings;
  static constexpr auto reference = ref::adamw_element;

  template <class R>
  struct Constants : StepConstants<R> {
    R beta1, beta2, one_minus_beta1, one_minus_beta2, epsilon;
    R step_size;          // learning_rate / (1 - beta1^update)
    R second_correction;  // 1 / sqrt(1 - beta2^update)

    SINK_HD Constants(const Settings& s, const StepScalars& step)
        : StepConstants<R>(s, step),
          beta1(static_cast<R>(s.beta1)),
          beta2(static_cast<R>(s.beta2)),
          one_minus_beta1(static_cast<R>(1 - s.beta1)),
          one_minus_beta2(static_cast<R>(1 - s.beta2)),
          epsilon(static_cast<R>(s.epsilon)),
          step_size(static_cast<R>(step.learning_rate / (1 - std::pow(s.beta1, step.update)))),
          second_correction(static_cast<R>(1 / std::sqrt(1 - std::pow(s.beta2, step.update)))) {}
  };

  template <class R>
  SINK_HD static void element(const Constants<R>& k, R g, R& w, R& m, R& v) {
    m = k.beta1 * m + k.one_minus_beta1 * g;
    v = k.beta2 * v + k.one_minus_beta2 * g * g;
    w = w * k.keep - k.step_size * m / (std::sqrt(v) * k.second_correction + k.epsilon);
  }
};

// w, dw, m, v: one shape, F32 or F64. `copy`: w rounded to BF16, which is kept up to date with it; or undefined.
inline void adamw(const AdamwSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m,
                  Tensor& v, Tensor& copy) {
  update_elements<Adamw>(settings, step_scalars, dw, copy, w, m, v);
}
// The same without a copy.
inline void adamw(const AdamwSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m,
                  Tensor& v) {
  Tensor no_copy;
  adamw(settings, step_scalars, dw, w, m, v, no_copy);
}

}  // namespace sink
