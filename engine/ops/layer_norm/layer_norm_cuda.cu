#include "engine/ops/layer_norm/layer_norm_cuda.h"

#include "engine/cuda/column_sums.cuh"
#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

// A warp per row; lane l has the numbers l, l + 32, ... of it.
template <class Y>
__global__ void layer_norm_kernel(std::int64_t rows, std::int64_t C, const float* x, const float* gain_C,
                                  const float* bias_C, float epsilon, Y* y, float* mean, float* r) {
  std::int64_t row = row_of_warp();
  if (row >= rows) return;
  const float* x_C = x + row * C;
  float sum = 0;
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp) sum += x_C[c];
  float middle = warp_sum(sum) / static_cast<float>(C);
  float sum_of_squares = 0;  // of the differences: E[x^2] - mean^2 would cancel
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp) sum_of_squares += (x_C[c] - middle) * (x_C[c] - middle);
  float inverse = 1 / sqrtf(warp_sum(sum_of_squares) / static_cast<float>(C) + epsilon);
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp)
    store(y[row * C + c], (x_C[c] - middle) * inverse * gain_C[c] + bias_C[c]);
  if (lane_of_thread() > 0) return;
  mean[row] = middle;
  r[row] = inverse;
}

template <class Y>
__global__ void layer_norm_backward_kernel(std::int64_t rows, std::int64_t C, const Y* dy, const float* x,
                                           const float* gain_C, const float* mean, const float* r, float* dx,
                                           bool accumulate) {
  std::int64_t row = row_of_warp();
  if (row >= rows) return;
  const Y* dy_C = dy + row * C;
  const float* x_C = x + row * C;
  float middle = mean[row], inverse = r[row];
  float sum = 0, projection = 0;  // sum_k dx^_k, sum_k dx^_k x^_k
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp) {
    float dxhat = static_cast<float>(dy_C[c]) * gain_C[c];
    sum += dxhat;
    projection += dxhat * ((x_C[c] - middle) * inverse);
  }
  float shift = warp_sum(sum) / static_cast<float>(C), shrink = warp_sum(projection) / static_cast<float>(C);
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp) {
    float dxhat = static_cast<float>(dy_C[c]) * gain_C[c];
    float value = inverse * (dxhat - shift - (x_C[c] - middle) * inverse * shrink);
    dx[row * C + c] = accumulate ? dx[row * C + c] + value : value;
  }
}

template <class Y>
void forward(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
             double epsilon) {
  launch(grid_of_rows(r.size()), layer_norm_kernel<Y>, r.size(), gain_C.size(), x.device_data<float>(),
         gain_C.device_data<float>(), bias_C.device_data<float>(), epsilon, y.device_data<Y>(),
         mean.device_data<float>(), r.device_data<float>());
}

template <class Y>
void backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
              const LayerNormGradient& dx, const LayerNormGradient& dgain_C, const LayerNormGradient& dbias_C) {
  std::int64_t rows = r.size(), C = gain_C.size();
  const Y* dy_data = dy.device_data<Y>();
  const float *x_data = x.device_data<float>(), *mean_data = mean.device_data<float>();
  const float* r_data = r.device_data<float>();
  launch(grid_of_rows(rows), layer_norm_backward_kernel<Y>, rows, C, dy_data, x_data, gain_C.device_data<float>(),
         mean_data, r_data, dx.grad.device_data<float>(), dx.accumulate);
  auto gain_of_row = [=] __device__(std::int64_t row, std::int64_t c) {
    return static_cast<float>(dy_data[row * C + c]) * ((x_data[row * C + c] - mean_data[row]) * r_data[row]);
  };
  column_sums(rows, C, gain_of_row, dgain_C.grad.device_data<float>(), dgain_C.accumulate);
  auto bias_of_row = [=] __device__(std::int64_t row, std::int64_t c) {
    return static_cast<float>(dy_data[row * C + c]);
  };
  column_sums(rows, C, bias_of_row, dbias_C.grad.device_data<float>(), dbias_C.accumulate);
}

}  // namespace

void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
                double epsilon) {
  with_real<float, bf16>(y.dtype(),
                         [&](auto zero) { forward<decltype(zero)>(x, gain_C, bias_C, y, mean, r, epsilon); });
}

void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
                         const LayerNormGradient& dx, const LayerNormGradient& dgain_C,
                         const LayerNormGradient& dbias_C) {
  with_real<float, bf16>(dy.dtype(),
                         [&](auto zero) { backward<decltype(zero)>(dy, x, gain_C, mean, r, dx, dgain_C, dbias_C); });
}

}  // namespace sink::cuda
