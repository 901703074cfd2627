// CUDA backend: gathering F32 values.
#include "engine/ops/gather/gather.h"

#include "engine/cuda/elements.cuh"
#include "engine/cuda/instructions.cuh"

namespace sink::cuda {
namespace {

constexpr int kThreads = 128;  // of the block of one learned value

// Block i sums dy over all n with index(n) = i: each thread sums its n in order, then thread 0 adds the sums of the
// threads in order. In double, as gather.h promises, since any number of n may have the same index. The whole index is
// read once per learned value, of which there are few.
__global__ void gather_backward_kernel(std::int64_t N, const float* dy_N, const std::int32_t* index_N, float* dp,
                                       bool accumulate) {
  auto i = static_cast<std::int32_t>(blockIdx.x);
  double sum = 0;
  for (std::int64_t n = threadIdx.x; n < N; n += kThreads)
    if (index_N[n] == i) sum += static_cast<double>(dy_N[n]);
  auto* of_threads = shared_memory<double>();
  of_threads[threadIdx.x] = sum;
  sync_block();
  if (threadIdx.x > 0) return;
  for (int thread = 1; thread < kThreads; ++thread) sum += of_threads[thread];
  dp[i] = static_cast<float>(accumulate ? static_cast<double>(dp[i]) + sum : sum);
}

}  // namespace

void gather(const Tensor& p, const Tensor& index, Tensor& y) {
  const float* p_i = p.device_data<float>();
  const std::int32_t* index_n = index.device_data<std::int32_t>();
  float* y_n = y.device_data<float>();
  for_each_element(y.size(), [=] __device__(std::int64_t n) { y_n[n] = index_n[n] < 0 ? 0.0f : p_i[index_n[n]]; });
}

void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate) {
  if (dp.size() == 0) return;
  launch({static_cast<unsigned>(dp.size()), kThreads, kThreads * sizeof(double)}, gather_backward_kernel, dy.size(),
         dy.device_data<float>(), index.device_data<std::int32_t>(), dp.device_data<float>(), accumulate);
}

}  // namespace sink::cuda
