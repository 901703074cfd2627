// A loop over elements, one thread each: what kernels without rows are made of.
#pragma once

#include "engine/cuda/device.cuh"

namespace sink::cuda {

inline constexpr int kElementThreads = 256;

template <class F>
__global__ void elements_kernel(std::int64_t count, F f) {
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) f(i);
}

// f(i) for every i in [0, count), in no order; f is a device function that captures by value.
template <class F>
void for_each_element(std::int64_t count, F f) {
  if (count > 0) launch({blocks_for(count, kElementThreads), kElementThreads}, elements_kernel<F>, count, f);
}

}  // namespace sink::cuda
