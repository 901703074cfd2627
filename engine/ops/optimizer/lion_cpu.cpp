// CPU backend: Lion on F32. The copy is left to the caller, as by the reference.
#include "engine/ops/optimizer/lion.h"

#include "engine/ops/optimizer/lion_math.h"
#include "engine/threads.h"

namespace sink::cpu {

void lion(const LionSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m, Tensor&) {
  LionConstants<float> constants(settings, host_step_scalars(step_scalars));
  if (constants.skip) return;
  const float* dw_i = dw.data<float>();
  float *w_i = w.data<float>(), *m_i = m.data<float>();
  parallel_chunks(w.size(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) lion_update(constants, dw_i[i], w_i[i], m_i[i]);
  });
}

}  // namespace sink::cpu
