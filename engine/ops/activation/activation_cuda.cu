// CUDA backend: elementwise functions in F32 and BF16, computed in float.
#include "engine/ops/activation/activation.h"

#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"

namespace sink::cuda {
namespace {

template <int N, class F, class X>
void apply_by(std::int64_t count, const X* x_i, X* y_i) {
  for_each_element(count / N, [=] __device__(std::int64_t group) {
    auto x = load_floats<N>(x_i + group * N);
    for (int n = 0; n < N; ++n) x[n] = F::f(x[n]);
    store_vector(y_i + group * N, x);
  });
}

template <int N, class F, class X>
void apply_backward_by(std::int64_t count, const X* dy_i, const X* x_i, X* dx_i) {
  for_each_element(count / N, [=] __device__(std::int64_t group) {
    auto dy = load_floats<N>(dy_i + group * N), x = load_floats<N>(x_i + group * N);
    for (int n = 0; n < N; ++n) x[n] = dy[n] * F::df(x[n]);
    store_vector(dx_i + group * N, x);
  });
}

template <class F, class X>
void apply(const Tensor& x, Tensor& y) {
  const X* x_i = x.device_data<X>();
  X* y_i = y.device_data<X>();
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(x.size(), x_i, y_i),
                           [&](auto width) { apply_by<decltype(width)::value, F>(x.size(), x_i, y_i); });
}

template <class F, class X>
void apply_backward(const Tensor& dy, const Tensor& x, Tensor& dx) {
  const X *dy_i = dy.device_data<X>(), *x_i = x.device_data<X>();
  X* dx_i = dx.device_data<X>();
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(x.size(), dy_i, x_i, dx_i), [&](auto width) {
    apply_backward_by<decltype(width)::value, F>(x.size(), dy_i, x_i, dx_i);
  });
}

}  // namespace

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) { apply<F, decltype(zero)>(x, y); });
}

template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) { apply_backward<F, decltype(zero)>(dy, x, dx); });
}

#define SINK_INSTANTIATE(F)                            \
  template void activation<F>(const Tensor&, Tensor&); \
  template void activation_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)

}  // namespace sink::cuda
