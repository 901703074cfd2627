// An answer to GPU puzzle 1: a thread adds a value that another one stores, so all wait after the stores, too.
#pragma once

#include "engine/cuda/instructions.cuh"

namespace sink::tour {

__global__ void block_sums_kernel(const float* x, float* sums) {
  float* shared = cuda::shared_memory<float>();
  unsigned t = threadIdx.x;
  shared[t] = x[blockIdx.x * blockDim.x + t];
  cuda::sync_block();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) shared[t] += shared[t + half];
    cuda::sync_block();
  }
  if (t == 0) sums[blockIdx.x] = shared[0];
}

}  // namespace sink::tour
