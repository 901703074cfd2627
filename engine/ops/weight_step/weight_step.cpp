#include "engine/ops/weight_step/weight_step.h"

#include "engine/implementation.h"
#include "engine/ops/weight_step/weight_step_cpu.h"
#include "engine/ops/weight_step/weight_step_cuda.h"
#include "engine/ops/weight_step/weight_step_ref.h"

namespace sink {

void weight_step(const WeightStepSettings& settings, const Tensor& numbers, const Tensor& u, Tensor& w, Tensor& copy) {
  check_update("weight_step", numbers, "u and w", {&u, &w});
  check_copy("weight_step", w, copy);
  SINK_SELECT(w, weight_step)(settings, numbers, u, w, copy);
  refresh_copy(w, copy);
}

}  // namespace sink
