// CUDA backend: the short convolution in F32 and BF16, computed in float, an element or a weight on each thread.
#include "engine/ops/short_convolution/short_convolution.h"

#include "engine/cuda/elements.cuh"
#include "engine/ops/short_convolution/short_convolution_math.h"

namespace sink::cuda {
namespace {

template <class X>
void convolve(const Tensor& x_BTE, const Tensor& before_BTE, const Tensor& w_EK, Tensor& y_BTE, bool reverse) {
  const std::int64_t T = x_BTE.dim(1), E = x_BTE.dim(2);
  const ConvolutionOperands<float, X> operands{x_BTE.device_data<X>(),
                                               before_BTE.defined() ? before_BTE.device_data<X>() : nullptr,
                                               w_EK.device_data<float>(),
                                               T,
                                               E,
                                               w_EK.dim(1)};
  X* y = y_BTE.device_data<X>();
  for_each_element(x_BTE.size(),
                   [=] __device__(std::int64_t n) { store(y[n], operands.sum(n / E / T, n / E % T, n % E, reverse)); });
}

template <class X>
void backward_of_weights(const Tensor& dy_BTE, const Tensor& x_BTE, const Tensor& w_EK, Tensor& dw_EK,
                         bool accumulate) {
  const std::int64_t B = x_BTE.dim(0), K = w_EK.dim(1);
  const ConvolutionOperands<float, X> of_x{x_BTE.device_data<X>(), nullptr,      w_EK.device_data<float>(),
                                           x_BTE.dim(1),           x_BTE.dim(2), K};
  const X* dy = dy_BTE.device_data<X>();
  float* dw = dw_EK.device_data<float>();
  for_each_element(dw_EK.size(), [=] __device__(std::int64_t n) {
    dw[n] = (accumulate ? dw[n] : 0) + weight_gradient(of_x, dy, B, n / K, n % K);
  });
}

}  // namespace

void short_convolution(const Tensor& x_BTE, const Tensor& before_BTE, const Tensor& w_EK, Tensor& y_BTE) {
  with_real<float, bf16>(x_BTE.dtype(), [&]<class X>(X) { convolve<X>(x_BTE, before_BTE, w_EK, y_BTE, false); });
}

void short_convolution_backward(const Tensor& dy_BTE, const Tensor& x_BTE, const Tensor& w_EK, Tensor& dx_BTE,
                                Tensor& dw_EK, bool accumulate) {
  with_real<float, bf16>(x_BTE.dtype(), [&]<class X>(X) {
    convolve<X>(dy_BTE, {}, w_EK, dx_BTE, true);
    backward_of_weights<X>(dy_BTE, x_BTE, w_EK, dw_EK, accumulate);
  });
}

}  // namespace sink::cuda
