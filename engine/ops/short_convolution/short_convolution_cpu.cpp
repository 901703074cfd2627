// CPU backend: the short convolution in F32 and BF16, computed in float; a piece of the tokens, or of the weights, on
// each thread.
#include "engine/ops/short_convolution/short_convolution.h"

#include <vector>

#include "engine/ops/short_convolution/short_convolution_math.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kConvolutionRows = 8, kConvolutionWeights = 16;

template <class X>
void convolve_row(const ConvolutionOperands<float, X>& operands, std::int64_t b, std::int64_t t, bool reverse,
                  float* sum_E) {
  const std::int64_t E = operands.E, K = operands.K;
  for (std::int64_t e = 0; e < E; ++e) sum_E[e] = 0;
  for (std::int64_t k = 0; k < K; ++k)
    if (const X* x_E = operands.row(b, operands.token(t, k, reverse))) {
#pragma omp simd
      for (std::int64_t e = 0; e < E; ++e) sum_E[e] += operands.w[e * K + k] * float(x_E[e]);
    }
}

// y of all elements; with `reverse`, dx of dy.
template <class X>
void convolve(const Tensor& x_BTE, const Tensor& before_BTE, const Tensor& w_EK, Tensor& y_BTE, bool reverse) {
  const std::int64_t T = x_BTE.dim(1), E = x_BTE.dim(2);
  const ConvolutionOperands<float, X> operands{
      x_BTE.data<X>(), before_BTE.defined() ? before_BTE.data<X>() : nullptr, w_EK.data<float>(), T, E, w_EK.dim(1)};
  X* y = y_BTE.data<X>();
  parallel_chunks(x_BTE.dim(0) * T, kConvolutionRows, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> sum_E(static_cast<std::size_t>(E));
    for (std::int64_t row = begin; row < end; ++row) {
      convolve_row(operands, row / T, row % T, reverse, sum_E.data());
      for (std::int64_t e = 0; e < E; ++e) store(y[row * E + e], sum_E[static_cast<std::size_t>(e)]);
    }
  });
}

}  // namespace

void short_convolution(const Tensor& x_BTE, const Tensor& before_BTE, const Tensor& w_EK, Tensor& y_BTE) {
  with_real<float, bf16>(x_BTE.dtype(),
                         [&]<class X>(X) { convolve<X>(x_BTE, before_BTE, w_EK, y_BTE, /*reverse=*/false); });
}

void short_convolution_backward(const Tensor& dy_BTE, const Tensor& x_BTE, const Tensor& w_EK, Tensor& dx_BTE,
                                Tensor& dw_EK, bool accumulate) {
  const std::int64_t B = x_BTE.dim(0), K = w_EK.dim(1);
  with_real<float, bf16>(x_BTE.dtype(), [&]<class X>(X) {
    convolve<X>(dy_BTE, {}, w_EK, dx_BTE, /*reverse=*/true);
    const ConvolutionOperands<float, X> of_x{x_BTE.data<X>(), nullptr,      w_EK.data<float>(),
                                             x_BTE.dim(1),    x_BTE.dim(2), K};
    float* dw = dw_EK.data<float>();
    parallel_chunks(dw_EK.size(), kConvolutionWeights, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n)
        dw[n] = (accumulate ? dw[n] : 0) + weight_gradient(of_x, dy_BTE.data<X>(), B, n / K, n % K);
    });
  });
}

}  // namespace sink::cpu
