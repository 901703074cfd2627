// The row of a warp, and reductions over its lanes.
#pragma once

#include "engine/cuda/instructions.cuh"

namespace sink::cuda {

inline constexpr int kRowThreads = 128;  // of kernels with a warp per row: four rows per block
inline Grid grid_of_rows(std::int64_t rows) { return {blocks_for(rows, kRowThreads / kWarp), kRowThreads}; }

__device__ inline int lane_of_thread() { return static_cast<int>(threadIdx.x) % kWarp; }
// The row of this thread's warp; may be after the last.
__device__ inline std::int64_t row_of_warp() {
  return static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
}

// The sum and the maximum of x over the lanes, with the same bits in every lane. All lanes.
__device__ inline float warp_sum(float x) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) x += shuffle_xor(x, mask);
  return x;
}
__device__ inline float warp_max(float x) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    float other = shuffle_xor(x, mask);
    x = other > x ? other : x;
  }
  return x;
}

// The sum of x over the threads of a block, with the same bits in all of them. Called by all threads, once per kernel:
// shared memory holds a float per warp.
__device__ inline float block_sum(float x) {
  float* of_warp = shared_memory<float>();
  int warp = static_cast<int>(threadIdx.x) / kWarp, lane = lane_of_thread();
  x = warp_sum(x);
  if (lane == 0) of_warp[warp] = x;
  sync_block();
  return warp_sum(lane < static_cast<int>(blockDim.x) / kWarp ? of_warp[lane] : 0.0f);
}

}  // namespace sink::cuda
