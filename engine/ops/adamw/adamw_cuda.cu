#include "engine/ops/adamw/adamw_cuda.h"

#include "engine/cuda/elements.cuh"
#include "engine/ops/adamw/adamw_math.h"

namespace sink::cuda {

void adamw(const AdamwStep& settings, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v) {
  AdamwConstants<float> constants(settings);
  const float* dw_i = dw.device_data<float>();
  float *w_i = w.device_data<float>(), *m_i = m.device_data<float>(), *v_i = v.device_data<float>();
  for_each_element(w.size(),
                   [=] __device__(std::int64_t i) { adamw_element(constants, dw_i[i], w_i[i], m_i[i], v_i[i]); });
}

}  // namespace sink::cuda
