// GPU puzzle 1: fix the race.
#pragma once

#include "engine/cuda/instructions.cuh"

namespace sink::tour {

// sums[b] = the sum of the values that block b has, one per thread; the number of threads is a power of two. Half of
// the threads add the values of the other half, then half of those, until one value is left.
//
// The sums are right under some orders of threads and wrong under others. Which line may a thread reach too early?
__global__ void block_sums_kernel(const float* x, float* sums) {
  float* shared = cuda::shared_memory<float>();
  unsigned t = threadIdx.x;
  shared[t] = x[blockIdx.x * blockDim.x + t];
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) shared[t] += shared[t + half];
    cuda::sync_block();  // yours: one barrier is missing
  }
  if (t == 0) sums[blockIdx.x] = shared[0];
}

}  // namespace sink::tour
