#include "engine/ops/rms_norm/rms_norm_cuda.h"

#include "engine/cuda/column_sums.cuh"
#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

// A warp per row; lane l has the numbers l, l + 32, ... of it.
template <class Y>
__global__ void rms_norm_kernel(std::int64_t rows, std::int64_t C, const float* x, const float* gain_C, float epsilon,
                                Y* y, float* r) {
  std::int64_t row = row_of_warp();
  if (row >= rows) return;
  const float* x_C = x + row * C;
  float sum_of_squares = 0;
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp) sum_of_squares += x_C[c] * x_C[c];
  float mean_square = warp_sum(sum_of_squares) / static_cast<float>(C);
  float inverse = 1 / sqrtf(mean_square + epsilon);
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp) store(y[row * C + c], x_C[c] * inverse * gain_C[c]);
  if (lane_of_thread() == 0) r[row] = inverse;
}

template <class Y>
__global__ void rms_norm_backward_kernel(std::int64_t rows, std::int64_t C, const Y* dy, const float* x,
                                         const float* gain_C, const float* r, float* dx, bool accumulate) {
  std::int64_t row = row_of_warp();
  if (row >= rows) return;
  const Y* dy_C = dy + row * C;
  const float* x_C = x + row * C;
  float inverse = r[row], projection = 0;  // sum_k dx^_k x_k
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp)
    projection += static_cast<float>(dy_C[c]) * gain_C[c] * x_C[c];
  float shrink = warp_sum(projection) / static_cast<float>(C) * inverse * inverse;
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp) {
    float value = inverse * (static_cast<float>(dy_C[c]) * gain_C[c] - x_C[c] * shrink);
    dx[row * C + c] = accumulate ? dx[row * C + c] + value : value;
  }
}

template <class Y>
void forward(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon) {
  launch(grid_of_rows(r.size()), rms_norm_kernel<Y>, r.size(), gain_C.size(), x.device_data<float>(),
         gain_C.device_data<float>(), epsilon, y.device_data<Y>(), r.device_data<float>());
}

template <class Y>
void backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx, bool accumulate_dx,
              Tensor& dgain_C, bool accumulate_dgain) {
  std::int64_t rows = r.size(), C = gain_C.size();
  const Y* dy_data = dy.device_data<Y>();
  const float *x_data = x.device_data<float>(), *r_data = r.device_data<float>();
  launch(grid_of_rows(rows), rms_norm_backward_kernel<Y>, rows, C, dy_data, x_data, gain_C.device_data<float>(), r_data,
         dx.device_data<float>(), accumulate_dx);
  auto of_row = [=] __device__(std::int64_t row, std::int64_t c) {
    return static_cast<float>(dy_data[row * C + c]) * x_data[row * C + c] * r_data[row];
  };
  column_sums(rows, C, of_row, dgain_C.device_data<float>(), accumulate_dgain);
}

}  // namespace

void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon) {
  with_real<float, bf16>(y.dtype(), [&](auto zero) { forward<decltype(zero)>(x, gain_C, y, r, epsilon); });
}

void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                       bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain) {
  with_real<float, bf16>(dy.dtype(), [&](auto zero) {
    backward<decltype(zero)>(dy, x, gain_C, r, dx, accumulate_dx, dgain_C, accumulate_dgain);
  });
}

}  // namespace sink::cuda
