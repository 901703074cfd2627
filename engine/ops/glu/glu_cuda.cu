#include "engine/ops/glu/glu_cuda.h"

#include "engine/cuda/elements.cuh"

namespace sink::cuda {
namespace {

// Number i of y has its gate at i / F * 2F + i % F, which is i / F * F + i, and its number up F behind that.
template <class Function, class X>
void forward(const Tensor& gate_up, Tensor& y) {
  std::int64_t F = y.dim(-1);
  const X* in = gate_up.device_data<X>();
  X* out = y.device_data<X>();
  for_each_element(y.size(), [=] __device__(std::int64_t i) {
    std::int64_t at = i / F * F + i;
    store(out[i], Function::f(static_cast<float>(in[at])) * static_cast<float>(in[at + F]));
  });
}

template <class Function, class X>
void backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  std::int64_t F = dy.dim(-1);
  const X *dy_i = dy.device_data<X>(), *in = gate_up.device_data<X>();
  X* out = dgate_up.device_data<X>();
  for_each_element(dy.size(), [=] __device__(std::int64_t i) {
    std::int64_t at = i / F * F + i;
    float dy = static_cast<float>(dy_i[i]), gate = static_cast<float>(in[at]), up = static_cast<float>(in[at + F]);
    store(out[at + F], dy * Function::f(gate));
    store(out[at], dy * up * Function::df(gate));
  });
}

}  // namespace

template <ListedActivationFunction Function>
void glu(const Tensor& gate_up, Tensor& y) {
  with_real<float, bf16>(y.dtype(), [&](auto zero) { forward<Function, decltype(zero)>(gate_up, y); });
}

template <ListedActivationFunction Function>
void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  with_real<float, bf16>(dy.dtype(), [&](auto zero) { backward<Function, decltype(zero)>(dy, gate_up, dgate_up); });
}

#define SINK_INSTANTIATE(F)                     \
  template void glu<F>(const Tensor&, Tensor&); \
  template void glu_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)

}  // namespace sink::cuda
