#include "engine/ops/activation/activation_cuda.h"

#include "engine/cuda/elements.cuh"

namespace sink::cuda {
namespace {

template <class F, class X>
void apply(const Tensor& x, Tensor& y) {
  const X* x_i = x.device_data<X>();
  X* y_i = y.device_data<X>();
  for_each_element(x.size(), [=] __device__(std::int64_t i) { store(y_i[i], F::f(static_cast<float>(x_i[i]))); });
}

template <class F, class X>
void apply_backward(const Tensor& dy, const Tensor& x, Tensor& dx) {
  const X *dy_i = dy.device_data<X>(), *x_i = x.device_data<X>();
  X* dx_i = dx.device_data<X>();
  for_each_element(x.size(), [=] __device__(std::int64_t i) {
    store(dx_i[i], static_cast<float>(dy_i[i]) * F::df(static_cast<float>(x_i[i])));
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
