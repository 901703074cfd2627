// CPU backend: AdamW on F32. The copy is left to the caller, as by the reference.
#include "engine/ops/optimizer/adamw.h"

#include "engine/ops/optimizer/adamw_math.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

void update(const AdamwConstants<float>& constants, const float* dw, float* w, float* m, float* v, std::int64_t begin,
            std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) adamw_update(constants, dw[i], w[i], m[i], v[i]);
}

}  // namespace

void adamw(const AdamwSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor&) {
  AdamwConstants<float> constants(settings, host_step_scalars(step_scalars));
  if (constants.skip) return;
  parallel_chunks(w.size(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
    update(constants, dw.data<float>(), w.data<float>(), m.data<float>(), v.data<float>(), begin, end);
  });
}

}  // namespace sink::cpu
