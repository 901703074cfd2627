// Reference: AdamW in double.
#include "engine/ops/optimizer/adamw.h"

#include "engine/implementation.h"
#include "engine/ops/optimizer/adamw_math.h"

namespace sink::ref {

// The constants of one step.
struct AdamwStep {
  double learning_rate;
  double m_correction, v_correction;  // 1 - beta^update
};

// Breakpoint function: element i of a tensor, w, with its clipped gradient g and its moments m and v. The formulas are
// written as in adamw.h; adamw_math.h simplifies them.
[[gnu::noinline]] void adamw_element([[maybe_unused]] std::int64_t i, const AdamwSettings& settings,
                                     const AdamwStep& step, double g, double& w, double& m, double& v) {
  m = settings.beta1 * m + (1 - settings.beta1) * g;
  v = settings.beta2 * v + (1 - settings.beta2) * g * g;
  double m_hat = m / step.m_correction, v_hat = v / step.v_correction;
  w = w * (1 - step.learning_rate * settings.weight_decay) -
      step.learning_rate * m_hat / (std::sqrt(v_hat) + settings.epsilon);
}

void adamw(const AdamwSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor&) {
  AdamwConstants<double> constants(settings, host_step_scalars(step_scalars));
  if (constants.skip) return;
  double learning_rate = host_step_scalars(step_scalars).learning_rate;
  double update = host_step_scalars(step_scalars).update;
  AdamwStep step{learning_rate, 1 - std::pow(settings.beta1, update), 1 - std::pow(settings.beta2, update)};
  const double* dw_i = dw.data<double>();
  double *w_i = w.data<double>(), *m_i = m.data<double>(), *v_i = v.data<double>();
  for (std::int64_t i = 0; i < w.size(); ++i)
    adamw_element(i, settings, step, constants.gradient_scale * dw_i[i], w_i[i], m_i[i], v_i[i]);
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void adamw(const AdamwSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor& copy) {
  check_update("adamw", step_scalars, "dw, w, m and v", {&dw, &w, &m, &v});
  check_copy("adamw", w, copy);
  SINK_SELECT(w, adamw)(settings, step_scalars, dw, w, m, v, copy);
  refresh_copy(w, copy);
}

void adamw(const AdamwSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m,
           Tensor& v) {
  Tensor no_copy;
  adamw(settings, step_scalars, dw, w, m, v, no_copy);
}

}  // namespace sink
