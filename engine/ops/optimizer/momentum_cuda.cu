// CUDA backend: momentum of F32.
#include "engine/ops/optimizer/momentum.h"

#include "engine/ops/optimizer/momentum_math.h"
#include "engine/ops/optimizer/update_constants.cuh"

namespace sink::cuda {

void momentum(const MomentumSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& m, Tensor& u) {
  using Constants = MomentumConstants<float>;
  Tensor constants = folded<Constants>(settings, step_scalars);
  const auto* of_step = reinterpret_cast<const Constants*>(constants.device_data<float>());
  const float* dw_i = dw.device_data<float>();
  float *m_i = m.device_data<float>(), *u_i = u.defined() ? u.device_data<float>() : nullptr;
  for_each_element(m.size(), [=] __device__(std::int64_t i) {
    Constants k = *of_step;
    if (k.skip) return;
    float u_of_i = momentum_update(k, dw_i[i], m_i[i]);
    if (u_i) u_i[i] = u_of_i;
  });
}

}  // namespace sink::cuda
