// CUDA backend: F32 and BF16, computed in float, a row on each thread.
#include "engine/ops/top_softmax/top_softmax.h"

#include "engine/cuda/elements.cuh"
#include "engine/ops/top_softmax/top_softmax_math.h"

namespace sink::cuda {
namespace {

// kRow of every row of x.
template <class X, void (*kRow)(const X*, std::int64_t, std::int64_t, X*)>
void forward(const Tensor& x, std::int64_t k, Tensor& p) {
  const std::int64_t E = x.dim(-1);
  const X* in = x.device_data<X>();
  X* out = p.device_data<X>();
  for_each_element(x.size() / E, [=] __device__(std::int64_t n) { kRow(in + n * E, E, k, out + n * E); });
}

template <class X>
void backward(const Tensor& dp, const Tensor& p, const Tensor& s, Tensor& dx) {
  const std::int64_t E = p.dim(-1);
  const X *dp_i = dp.device_data<X>(), *p_i = p.device_data<X>(), *s_i = s.device_data<X>();
  X* dx_i = dx.device_data<X>();
  for_each_element(p.size() / E, [=] __device__(std::int64_t n) {
    top_softmax_row_backward<float>(dp_i + n * E, p_i + n * E, s_i + n * E, E, dx_i + n * E);
  });
}

}  // namespace

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p) {
  with_real<float, bf16>(x.dtype(), [&]<class X>(X) { forward<X, top_softmax_row<float, X>>(x, k, p); });
}

void keep_largest(const Tensor& s, std::int64_t k, Tensor& p) {
  with_real<float, bf16>(s.dtype(), [&]<class X>(X) { forward<X, keep_largest_row<float, X>>(s, k, p); });
}

void top_softmax_backward(const Tensor& dp, const Tensor& p, const Tensor& s, Tensor& dx) {
  with_real<float, bf16>(p.dtype(), [&](auto zero) { backward<decltype(zero)>(dp, p, s, dx); });
}

}  // namespace sink::cuda
