// CUDA backend: AdamW on F32.
#include "engine/ops/optimizer/adamw.h"

#include "engine/cuda/vectors.cuh"
#include "engine/ops/optimizer/adamw_math.h"
#include "engine/ops/optimizer/update_constants.cuh"

namespace sink::cuda {
namespace {

using Constants = AdamwConstants<float>;

template <int N>
void update(const Tensor& constants, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v, Tensor& copy) {
  const auto* of_step = reinterpret_cast<const Constants*>(constants.device_data<float>());
  const float* dw_i = dw.device_data<float>();
  float *w_i = w.device_data<float>(), *m_i = m.device_data<float>(), *v_i = v.device_data<float>();
  bf16* copy_i = copy_of(copy);
  for_each_element(w.size() / N, [=] __device__(std::int64_t group) {
    Constants k = *of_step;
    if (k.skip) return;
    std::int64_t i = group * N;
    auto dw_N = load_vector<N>(dw_i + i), w_N = load_vector<N>(w_i + i);
    auto m_N = load_vector<N>(m_i + i), v_N = load_vector<N>(v_i + i);
    for (int n = 0; n < N; ++n) adamw_update(k, dw_N[n], w_N[n], m_N[n], v_N[n]);
    store_vector(w_i + i, w_N);
    store_vector(m_i + i, m_N);
    store_vector(v_i + i, v_N);
    if (copy_i) store_vector(copy_i + i, w_N);
  });
}

}  // namespace

void adamw(const AdamwSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor& copy) {
  Tensor constants = folded<Constants>(settings, step_scalars);
  constexpr int N = kVector<float>;
  bool vectors = in_vectors<N>(w.size(), dw.device_data<float>(), w.device_data<float>(), m.device_data<float>(),
                               v.device_data<float>(), copy_of(copy));
  with_vectors<N>(vectors, [&](auto width) { update<decltype(width)::value>(constants, dw, w, m, v, copy); });
}

}  // namespace sink::cuda
