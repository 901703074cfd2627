// CUDA backend: F32 and BF16, computed in float, an element on each thread.
#include "engine/ops/soft_cap/soft_cap.h"

#include "engine/cuda/elements.cuh"
#include "engine/ops/soft_cap/soft_cap_math.h"

namespace sink::cuda {
namespace {

template <class X>
void forward(const Tensor& x, float cap, Tensor& y) {
  const X* from = x.device_data<X>();
  X* to = y.device_data<X>();
  for_each_element(x.size(), [=] __device__(std::int64_t n) { store(to[n], soft_capped(float(from[n]), cap)); });
}

template <class X>
void backward(const Tensor& dy, const Tensor& y, float cap, Tensor& dx) {
  const X *above = dy.device_data<X>(), *capped = y.device_data<X>();
  X* to = dx.device_data<X>();
  for_each_element(y.size(), [=] __device__(std::int64_t n) {
    store(to[n], float(above[n]) * soft_cap_slope(float(capped[n]), cap));
  });
}

}  // namespace

void soft_cap(const Tensor& x, double cap, Tensor& y) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) { forward<decltype(zero)>(x, static_cast<float>(cap), y); });
}

void soft_cap_backward(const Tensor& dy, const Tensor& y, double cap, Tensor& dx) {
  with_real<float, bf16>(y.dtype(), [&](auto zero) { backward<decltype(zero)>(dy, y, static_cast<float>(cap), dx); });
}

}  // namespace sink::cuda
