// Reference: a step of the weights in double.
#include "engine/ops/optimizer/weight_step.h"

#include "engine/implementation.h"
#include "engine/ops/optimizer/update_math.h"

namespace sink::ref {

void weight_step(const WeightStepSettings& settings, const Tensor& step_scalars, const Tensor& u, Tensor& w, Tensor&) {
  const StepScalars& step = host_step_scalars(step_scalars);
  if (skips_update(step)) return;
  double learning_rate = step.learning_rate;
  double rate = settings.by_learning_rate ? learning_rate * settings.scale : settings.scale;
  const double* u_i = u.data<double>();
  double* w_i = w.data<double>();
  for (std::int64_t i = 0; i < w.size(); ++i)
    w_i[i] = w_i[i] * (1 - learning_rate * settings.weight_decay) - rate * u_i[i];
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void weight_step(const WeightStepSettings& settings, const Tensor& step_scalars, const Tensor& u, Tensor& w,
                 Tensor& copy) {
  check_update("weight_step", step_scalars, "u and w", {&u, &w});
  check_copy("weight_step", w, copy);
  SINK_SELECT(w, weight_step)(settings, step_scalars, u, w, copy);
  refresh_copy(w, copy);
}

}  // namespace sink
