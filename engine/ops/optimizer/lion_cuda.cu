// CUDA backend: Lion on F32.
#include "engine/ops/optimizer/lion.h"

#include "engine/ops/optimizer/lion_math.h"
#include "engine/ops/optimizer/update_constants.cuh"

namespace sink::cuda {

void lion(const LionSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m,
          Tensor& copy) {
  using Constants = LionConstants<float>;
  Tensor constants = folded<Constants>(settings, step_scalars);
  const auto* of_step = reinterpret_cast<const Constants*>(constants.device_data<float>());
  const float* dw_i = dw.device_data<float>();
  float *w_i = w.device_data<float>(), *m_i = m.device_data<float>();
  bf16* copy_i = copy_of(copy);
  for_each_element(w.size(), [=] __device__(std::int64_t i) {
    Constants k = *of_step;
    if (k.skip) return;
    lion_update(k, dw_i[i], w_i[i], m_i[i]);
    if (copy_i) store(copy_i[i], w_i[i]);
  });
}

}  // namespace sink::cuda
