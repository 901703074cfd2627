// CUDA backend: F32 and BF16 rows, one warp per row. Sums are in float, of elements divided by the largest, so that no
// square overflows; a warp reads its row twice more from the cache.
#include "engine/ops/reductions/row_statistics.h"

#include <cfloat>

#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

template <class X>
__global__ void row_statistics_kernel(const X* x_ND, std::int64_t N, std::int64_t D, double* statistics_3N) {
  const std::int64_t row = row_of_warp();
  if (row >= N) return;
  const X* x_D = x_ND + row * D;
  auto sum_over_row = [&](auto&& term) {
    float sum = 0;
    for (std::int64_t d = lane_of_thread(); d < D; d += kWarp) sum += term(static_cast<float>(x_D[d]));
    return warp_sum(sum);
  };
  float largest = 0;
  for (std::int64_t d = lane_of_thread(); d < D; d += kWarp)
    largest = fmaxf(largest, fabsf(static_cast<float>(x_D[d])));
  largest = warp_max(largest);

  const float unit = largest > 0 ? largest : 1, columns = static_cast<float>(D);
  const float squares = sum_over_row([&](float x) { return x / unit * (x / unit); });
  const float mean = sum_over_row([&](float x) { return x / unit; }) / columns;
  float second = 0, fourth = 0;
  for (std::int64_t d = lane_of_thread(); d < D; d += kWarp) {
    const float deviation = static_cast<float>(x_D[d]) / unit - mean, square = deviation * deviation;
    second += square;
    fourth += square * square;
  }
  second = warp_sum(second) / columns;
  fourth = warp_sum(fourth) / columns;
  if (lane_of_thread() != 0) return;
  const double size = static_cast<double>(largest);
  statistics_3N[row] = largest > FLT_MAX ? size : size * static_cast<double>(sqrtf(squares));
  statistics_3N[N + row] = second > 0 ? static_cast<double>(fourth / (second * second)) : 0;
  statistics_3N[2 * N + row] = size;
}

}  // namespace

void row_statistics(const Tensor& x, Tensor& statistics_3N) {
  const std::int64_t D = x.dim(-1), N = x.size() / D;
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    launch(grid_of_rows(N), row_statistics_kernel<X>, x.device_data<X>(), N, D, statistics_3N.device_data<double>());
  });
}

}  // namespace sink::cuda
