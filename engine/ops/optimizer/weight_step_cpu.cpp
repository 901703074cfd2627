// CPU backend: a step of F32 weights. The copy is left to the caller, as by the reference.
#include "engine/ops/optimizer/weight_step.h"

#include "engine/ops/optimizer/weight_step_math.h"
#include "engine/threads.h"

namespace sink::cpu {

void weight_step(const WeightStepSettings& settings, const Tensor& step_scalars, const Tensor& u, Tensor& w, Tensor&) {
  WeightStepConstants<float> constants(settings, host_step_scalars(step_scalars));
  if (constants.skip) return;
  const float* u_i = u.data<float>();
  float* w_i = w.data<float>();
  parallel_chunks(w.size(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) weight_step_update(constants, u_i[i], w_i[i]);
  });
}

}  // namespace sink::cpu
