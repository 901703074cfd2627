// CUDA backend: a row more in F32, a row less in F32 and BF16.
#include "engine/ops/prepend/prepend.h"

#include "engine/cuda/elements.cuh"

namespace sink::cuda {
namespace {

template <class X>
void drop_first_as(const Tensor& x_BTC, Tensor& y_BTC) {
  std::int64_t C = y_BTC.dim(2), TC = y_BTC.dim(1) * C;
  const X* x = x_BTC.device_data<X>();
  X* y = y_BTC.device_data<X>();
  for_each_element(y_BTC.size(), [=] __device__(std::int64_t i) { y[i] = x[i + (i / TC + 1) * C]; });
}

template <class X>
void drop_first_backward_as(const Tensor& dy_BTC, Tensor& dx_BTC) {
  std::int64_t C = dx_BTC.dim(2), TC = dx_BTC.dim(1) * C;
  const X* dy = dy_BTC.device_data<X>();
  X* dx = dx_BTC.device_data<X>();
  for_each_element(dx_BTC.size(),
                   [=] __device__(std::int64_t i) { dx[i] = i % TC < C ? X(0.0f) : dy[i - (i / TC + 1) * C]; });
}

}  // namespace

void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC) {
  std::int64_t C = y_BTC.dim(2), TC = y_BTC.dim(1) * C;
  const float *x = x_BTC.device_data<float>(), *row = row_1C.device_data<float>();
  float* y = y_BTC.device_data<float>();
  for_each_element(y_BTC.size(),
                   [=] __device__(std::int64_t i) { y[i] = i % TC < C ? row[i % TC] : x[i - (i / TC + 1) * C]; });
}

// A column of the row's gradient has a thread, which sums the sequences in order.
void prepend_backward(const Tensor& dy_BTC, Tensor& dx_BTC, Tensor& drow_1C, bool accumulate_drow) {
  cuda::drop_first(dy_BTC, dx_BTC);
  std::int64_t B = dy_BTC.dim(0), C = dy_BTC.dim(2), TC = dy_BTC.dim(1) * C;
  const float* dy = dy_BTC.device_data<float>();
  float* drow = drow_1C.device_data<float>();
  for_each_element(C, [=] __device__(std::int64_t c) {
    float sum = accumulate_drow ? drow[c] : 0.0f;
    for (std::int64_t b = 0; b < B; ++b) sum += dy[b * TC + c];
    drow[c] = sum;
  });
}

void drop_first(const Tensor& x_BTC, Tensor& y_BTC) {
  with_real<float, bf16>(x_BTC.dtype(), [&](auto zero) { drop_first_as<decltype(zero)>(x_BTC, y_BTC); });
}

void drop_first_backward(const Tensor& dy_BTC, Tensor& dx_BTC) {
  with_real<float, bf16>(dy_BTC.dtype(), [&](auto zero) { drop_first_backward_as<decltype(zero)>(dy_BTC, dx_BTC); });
}

}  // namespace sink::cuda
