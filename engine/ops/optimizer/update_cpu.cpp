// CPU backend: element-wise updates of F32. The copy is left to the caller, as by the reference.
#include "engine/ops/optimizer/updates.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

template <class U, class... X>
void update_range(const typename U::template Constants<float> k, std::int64_t begin, std::int64_t end,
                  const float* input, [[maybe_unused]] float* out, X*... x) {
  if constexpr (!U::writes_copy) {
    if (out) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) out[i] = update_element<U>(k, input[i], x[i]...);
      return;
    }
  }
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) update_element<U>(k, input[i], x[i]...);
}

}  // namespace

template <class U, class... X>
void update_elements(const typename U::Settings& settings, const Tensor& step_scalars, const Tensor& input, Tensor& out,
                     X&... x) {
  const typename U::template Constants<float> constants(settings, host_step_scalars(step_scalars));
  if (constants.skip) return;
  float* out_i = !U::writes_copy && out.defined() ? out.data<float>() : nullptr;
  parallel_chunks(input.size(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
    update_range<U>(constants, begin, end, input.data<float>(), out_i, x.template data<float>()...);
  });
}

SINK_UPDATES(SINK_COMPILE_UPDATE)

}  // namespace sink::cpu
