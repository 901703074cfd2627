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

// A warp per column.
__global__ void sum_columns_kernel(std::int64_t heads, std::int64_t T, std::int64_t C, const float* weights_BHTC,
                                   const float* divisor_BHT, std::int64_t first_column, std::int64_t X, float* raw_BHX,
                                   float* proxy_BHX) {
  std::int64_t n = row_of_warp(), bh = n / C, column = n % C;
  if (bh >= heads) return;
  float raw = 0, proxy = 0;
  for (std::int64_t bht = bh * T + lane_of_thread(); bht < (bh + 1) * T; bht += kWarp) {
    float weight = weights_BHTC[bht * C + column];
    raw += weight;
    proxy += fabsf(weight) / divisor_BHT[bht];
  }
  raw = warp_sum(raw);
  proxy = warp_sum(proxy);
  std::int64_t bhx = bh * X + first_column + column;
  if (lane_of_thread() == 0) raw_BHX[bhx] = raw, proxy_BHX[bhx] = proxy;
}

}  // namespace

void sum_columns(const Tensor& weights_BHTC, const Tensor& rows_RBHT, std::int64_t first_column, Tensor& raw_BHX,
                 Tensor& proxy_BHX) {
  std::int64_t T = weights_BHTC.dim(2), C = weights_BHTC.dim(3), heads = weights_BHTC.dim(0) * weights_BHTC.dim(1);
  launch(grid_of_rows(heads * C), sum_columns_kernel, heads, T, C, weights_BHTC.device_data<float>(),
         rows_RBHT.device_data<float>() + RowStatistics::divisor * heads * T, first_column, raw_BHX.dim(2),
         raw_BHX.device_data<float>(), proxy_BHX.device_data<float>());
}

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
