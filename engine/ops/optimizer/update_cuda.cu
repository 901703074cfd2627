// CUDA backend: element-wise updates of F32, in vectors where addresses and size allow it.
#include <type_traits>
#include <utility>

#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"
#include "engine/ops/optimizer/updates.h"

namespace sink::cuda {
namespace {

// The constants of a step on the device: computed there by one thread, in double as on the host, from scalars that the
// host has not read. They are floats and a bool.
template <class Constants, class Settings>
Tensor constants_of(const Settings& settings, const Tensor& step_scalars) {
  Tensor constants = Tensor::empty({sizeof(Constants) / sizeof(float)}, DType::F32, Device::cuda);
  const auto* step = reinterpret_cast<const StepScalars*>(step_scalars.device_data<double>());
  auto* out = reinterpret_cast<Constants*>(constants.device_data<float>());
  for_each_element(1, [=] __device__(std::int64_t) { *out = Constants(settings, *step); });
  return constants;
}

// The tensors in place, and element n of a vector of each.
template <int K>
struct Pointers {
  float* at[K];
};
template <class U, class Constants, class V, std::size_t... t>
__device__ float update_one(const Constants& k, float input, V* x_N, int n, std::index_sequence<t...>) {
  if constexpr (U::writes_copy) {
    update_element<U>(k, input, x_N[t][n]...);
    return x_N[0][n];
  } else {
    return update_element<U>(k, input, x_N[t][n]...);
  }
}

template <int N, class U, int K, class Out>
void update_vectors(const Tensor& constants, const Tensor& input, Out* out, Pointers<K> x) {
  using Constants = typename U::template Constants<float>;
  const auto* of_step = reinterpret_cast<const Constants*>(constants.device_data<float>());
  const float* input_i = input.device_data<float>();
  for_each_element(input.size() / N, [=] __device__(std::int64_t group) {
    Constants k = *of_step;
    if (k.skip) return;
    std::int64_t i = group * N;
    auto input_N = load_vector<N>(input_i + i);
    Vector<float, N> x_N[K], out_N;
    for (int t = 0; t < K; ++t) x_N[t] = load_vector<N>(x.at[t] + i);
    for (int n = 0; n < N; ++n) out_N[n] = update_one<U>(k, input_N[n], x_N, n, std::make_index_sequence<K>());
    for (int t = 0; t < K; ++t) store_vector(x.at[t] + i, x_N[t]);
    if (out) store_vector(out + i, out_N);
  });
}

}  // namespace

template <class U, class... X>
void update_elements(const typename U::Settings& settings, const Tensor& step_scalars, const Tensor& input, Tensor& out,
                     X&... x) {
  using Out = std::conditional_t<U::writes_copy, bf16, float>;
  Out* out_i = data_or_null<Out>(out);
  Tensor constants = constants_of<typename U::template Constants<float>>(settings, step_scalars);
  constexpr int N = kVector<float>, K = sizeof...(X);
  const bool vectors =
      in_vectors<N>(input.size(), input.device_data<float>(), x.template device_data<float>()..., out_i);
  with_vectors<N>(vectors, [&](auto width) {
    update_vectors<decltype(width)::value, U, K>(constants, input, out_i, {{x.template device_data<float>()...}});
  });
}

SINK_UPDATES(SINK_COMPILE_UPDATE)

}  // namespace sink::cuda
