// CUDA backend: a row more and a row less in F32 and BF16.
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

// A row that is null is zeros.
template <class X>
void prepend_as(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC) {
  std::int64_t C = y_BTC.dim(2), TC = y_BTC.dim(1) * C;
  const X *x = x_BTC.device_data<X>(), *row = data_or_null<X>(row_1C);
  X* y = y_BTC.device_data<X>();
  for_each_element(y_BTC.size(), [=] __device__(std::int64_t i) {
    y[i] = i % TC >= C ? x[i - (i / TC + 1) * C] : row ? row[i % TC] : X(0.0f);
  });
}

}  // namespace

void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC) {
  with_real<float, bf16>(x_BTC.dtype(), [&](auto zero) { prepend_as<decltype(zero)>(x_BTC, row_1C, y_BTC); });
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

}  // namespace sink::cuda
