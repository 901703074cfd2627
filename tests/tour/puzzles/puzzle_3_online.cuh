// GPU puzzle 3: make it online.
#pragma once

#include "engine/cuda/warp.cuh"

namespace sink::tour {

// o = sum_j a_j v_j with a_j = e^(s_j - m) / sum_i e^(s_i - m) and m = max_j s_j, by one warp: lane l has the keys
// l, l + 32, l + 64 and so on, of n > 0 keys.
//
// It reads the scores three times. Read s and v once (chapter 8), without an array: each lane keeps its m
// until the end. Beware of a lane without a key.
__global__ void softmax_mean_kernel(const float* s, const float* v, int n, float* o) {  // yours
  int lane = cuda::lane_of_thread();
  float m = -INFINITY, S = 0, sum = 0;
  for (int j = lane; j < n; j += cuda::kWarp) m = fmaxf(m, s[j]);
  m = cuda::warp_max(m);
  for (int j = lane; j < n; j += cuda::kWarp) S += expf(s[j] - m);
  S = cuda::warp_sum(S);
  for (int j = lane; j < n; j += cuda::kWarp) sum += expf(s[j] - m) / S * v[j];
  sum = cuda::warp_sum(sum);
  if (lane == 0) *o = sum;
}

}  // namespace sink::tour
