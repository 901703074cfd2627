// CPU backend: momentum of F32.
#include "engine/ops/optimizer/momentum.h"

#include "engine/ops/optimizer/momentum_math.h"
#include "engine/threads.h"

namespace sink::cpu {

void momentum(const MomentumSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& m, Tensor& u) {
  MomentumConstants<float> constants(settings, host_step_scalars(step_scalars));
  if (constants.skip) return;
  const float* dw_i = dw.data<float>();
  float *m_i = m.data<float>(), *u_i = u.defined() ? u.data<float>() : nullptr;
  parallel_chunks(m.size(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
    if (u_i) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) u_i[i] = momentum_update(constants, dw_i[i], m_i[i]);
    } else {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) momentum_update(constants, dw_i[i], m_i[i]);
    }
  });
}

}  // namespace sink::cpu
