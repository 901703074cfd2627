// CUDA backend: a step of F32 weights.
#include "engine/ops/optimizer/weight_step.h"

#include "engine/ops/optimizer/update_constants.cuh"
#include "engine/ops/optimizer/weight_step_math.h"

namespace sink::cuda {

void weight_step(const WeightStepSettings& settings, const Tensor& step_scalars, const Tensor& u, Tensor& w,
                 Tensor& copy) {
  using Constants = WeightStepConstants<float>;
  Tensor constants = folded<Constants>(settings, step_scalars);
  const auto* of_step = reinterpret_cast<const Constants*>(constants.device_data<float>());
  const float* u_i = u.device_data<float>();
  float* w_i = w.device_data<float>();
  bf16* copy_i = copy_of(copy);
  for_each_element(w.size(), [=] __device__(std::int64_t i) {
    Constants k = *of_step;
    if (k.skip) return;
    weight_step_update(k, u_i[i], w_i[i]);
    if (copy_i) store(copy_i[i], w_i[i]);
  });
}

}  // namespace sink::cuda
