#include "engine/ops/attention/statistics/attention_statistics_cuda.cuh"

#include "engine/cuda/elements.cuh"

namespace sink::cuda {
namespace {

__global__ void sum_rows_kernel(std::int64_t sums, std::int64_t T, const float* rows, float* sums_of_rows) {
  std::int64_t n = row_of_warp();
  if (n >= sums) return;
  float sum = 0;
  for (std::int64_t t = lane_of_thread(); t < T; t += kWarp) sum += rows[n * T + t];
  sum = warp_sum(sum);
  if (lane_of_thread() == 0) sums_of_rows[n] = sum;
}

}  // namespace

void sum_rows(const Tensor& rows, std::int64_t T, Tensor& sums) {
  launch(grid_of_rows(sums.size()), sum_rows_kernel, sums.size(), T, rows.device_data<float>(),
         sums.device_data<float>());
}

Tensor head_means(const Tensor& sums_RBH, int n, int pairs, std::int64_t rows, const Shape& BH) {
  std::int64_t heads = BH.size();
  Tensor x_BH = Tensor::empty(BH, DType::F32, Device::cuda);
  const float* sums = sums_RBH.device_data<float>();
  float* x = x_BH.device_data<float>();
  for_each_element(heads, [=] __device__(std::int64_t bh) {
    float count = pairs >= 0 ? sums[pairs * heads + bh] : static_cast<float>(rows);
    x[bh] = count > 0 ? sums[n * heads + bh] / count : 0;
  });
  return x_BH.to(DType::F64);
}

}  // namespace sink::cuda
