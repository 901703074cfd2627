// CUDA backend: sums the squares of a block of F32 or BF16 elements in float by a fixed tree, and the blocks
// of a range in double: 256 threads sum every 256th block and are added in order.
#include "engine/ops/reductions/partial_squared_norms.h"

#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

constexpr int kThreads = 256;

template <class X>
__global__ void partial_squared_norms_kernel(const X* x, double* squares) {
  const X* block = x + std::int64_t{blockIdx.x} * kSquaredNormBlock;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < kSquaredNormBlock; i += kThreads) {
    float x_i = static_cast<float>(block[i]);
    sum += x_i * x_i;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) squares[blockIdx.x] = static_cast<double>(sum);
}

// One thread block adds squares [begin, end) to `sum`.
__global__ void add_range_kernel(const double* squares, std::int64_t begin, std::int64_t end, double* sum) {
  double* of_threads = shared_memory<double>();
  double of_thread = 0;
  for (std::int64_t p = begin + threadIdx.x; p < end; p += kThreads) of_thread += squares[p];
  of_threads[threadIdx.x] = of_thread;
  sync_block();
  if (threadIdx.x > 0) return;
  double of_range = 0;
  for (int t = 0; t < kThreads; ++t) of_range += of_threads[t];
  *sum += of_range;
}

}  // namespace

void partial_squared_norms(const Tensor& x, Tensor& sums) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    launch({static_cast<unsigned>(sums.size()), kThreads, kThreads / kWarp * sizeof(float)},
           partial_squared_norms_kernel<X>, x.device_data<X>(), sums.device_data<double>());
  });
}

void sum_squared_norms(const Tensor& sums, const std::vector<Segment>& ranges, Tensor& sum) {
  sum.fill(0);
  for (const Segment& range : ranges)
    launch({1, kThreads, kThreads * sizeof(double)}, add_range_kernel, sums.device_data<double>(), range.begin,
           range.end, sum.device_data<double>());
}

}  // namespace sink::cuda
