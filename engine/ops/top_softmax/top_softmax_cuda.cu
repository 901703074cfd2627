#include "engine/ops/top_softmax/top_softmax_cuda.h"

#include "engine/cuda/elements.cuh"
#include "engine/ops/top_softmax/top_softmax_math.h"

namespace sink::cuda {

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p) {
  const std::int64_t E = x.dim(-1);
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    const X* in = x.device_data<X>();
    X* out = p.device_data<X>();
    for_each_element(x.size() / E,
                     [=] __device__(std::int64_t n) { top_softmax_row<float>(in + n * E, E, k, out + n * E); });
  });
}

void top_softmax_backward(const Tensor& dp, const Tensor& p, Tensor& dx) {
  const std::int64_t E = p.dim(-1);
  with_real<float, bf16>(p.dtype(), [&](auto zero) {
    using X = decltype(zero);
    const X *dp_i = dp.device_data<X>(), *p_i = p.device_data<X>();
    X* dx_i = dx.device_data<X>();
    for_each_element(p.size() / E, [=] __device__(std::int64_t n) {
      top_softmax_row_backward<float>(dp_i + n * E, p_i + n * E, E, dx_i + n * E);
    });
  });
}

}  // namespace sink::cuda
