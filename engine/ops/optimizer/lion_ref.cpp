// Reference: Lion in double.
#include "engine/ops/optimizer/lion.h"

#include "engine/implementation.h"
#include "engine/ops/optimizer/update_math.h"

namespace sink::ref {

void lion(const LionSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m, Tensor&) {
  const StepScalars& step = host_step_scalars(step_scalars);
  if (skips_update(step)) return;
  double learning_rate = step.learning_rate, scale = gradient_scale(settings.clip, step);
  const double* dw_i = dw.data<double>();
  double *w_i = w.data<double>(), *m_i = m.data<double>();
  for (std::int64_t i = 0; i < w.size(); ++i) {
    double g = scale * dw_i[i];
    double c = settings.beta1 * m_i[i] + (1 - settings.beta1) * g;
    double sign = c > 0 ? 1 : c < 0 ? -1 : 0;
    w_i[i] = w_i[i] * (1 - learning_rate * settings.weight_decay) - learning_rate * sign;
    m_i[i] = settings.beta2 * m_i[i] + (1 - settings.beta2) * g;
  }
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void lion(const LionSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m,
          Tensor& copy) {
  check_update("lion", step_scalars, "dw, w and m", {&dw, &w, &m});
  check_copy("lion", w, copy);
  SINK_SELECT(w, lion)(settings, step_scalars, dw, w, m, copy);
  refresh_copy(w, copy);
}

}  // namespace sink
