#include "engine/comm/nccl/sum_in_order.h"

#include "engine/cuda/device.cuh"

namespace sink {
namespace {

constexpr int kSumThreads = 256;

__global__ void sum_in_order_kernel(const float* parts, float* chunk, std::int64_t count, int ranks, bool add) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kSumThreads + threadIdx.x;
  if (i >= count) return;
  float sum = add ? chunk[i] : parts[i];
  for (int rank = add ? 0 : 1; rank < ranks; ++rank) sum += parts[rank * count + i];
  chunk[i] = sum;
}

}  // namespace

void sum_in_order(const Tensor& parts, Tensor& chunk, bool add) {
  const std::int64_t count = chunk.size();
  cuda::launch({cuda::blocks_for(count, kSumThreads), kSumThreads}, sum_in_order_kernel, parts.device_data<float>(),
               chunk.device_data<float>(), count, static_cast<int>(parts.size() / count), add);
}

}  // namespace sink
