// An answer to GPU puzzle 3: what a lane has is scaled when its m grows, and all lanes once at the end.
#pragma once

#include "engine/cuda/warp.cuh"

namespace sink::tour {

__global__ void softmax_mean_kernel(const float* s, const float* v, int n, float* o) {
  int lane = cuda::lane_of_thread();
  float m = -INFINITY, S = 0, sum = 0;
  for (int j = lane; j < n; j += cuda::kWarp) {
    float score = s[j], raised = fmaxf(m, score), rescale = expf(m - raised), g = expf(score - raised);
    S = S * rescale + g;
    sum = sum * rescale + g * v[j];
    m = raised;
  }
  float rescale = expf(m - cuda::warp_max(m));  // 0 for a lane without a key
  S = cuda::warp_sum(S * rescale);
  sum = cuda::warp_sum(sum * rescale);
  if (lane == 0) *o = sum / S;
}

}  // namespace sink::tour
