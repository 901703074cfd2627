// A persistent kernel in small: a scheduling warp tells four consumer warps which tile is next, through a ring of two
// slots. In kernels of this form a slot's mbarrier has been reused too early: the scheduler overwrites the tile before
// every warp has read it. attention_faults.toml has that fault and its neighbours.
#pragma once

#include "engine/cuda/hopper_instructions.cuh"
#include "engine/tensor.h"

namespace sink::cuda {

inline constexpr int kConsumerWarps = 4, kConsumerThreads = kConsumerWarps * kWarp, kTileStages = 2;

struct TileRing {
  Mbarrier full[kTileStages], empty[kTileStages];
  int tile[kTileStages];
};

// The n-th use of the ring. One warp schedules.
__device__ inline void schedule_tiles(TileRing& ring, const int* order, int count) {
  if (lane_of_thread() != 0) return;
  for (int n = 0; n <= count; ++n) {
    int stage = n % kTileStages, next = n < count ? order[n] : -1;
    unsigned parity = static_cast<unsigned>(n / kTileStages) % 2;
    if (n >= kTileStages) mbarrier_wait(&ring.empty[stage], 1 - parity);
    ring.tile[stage] = next;
    mbarrier_arrive(&ring.full[stage]);
  }
}

// y[i] = x[i] + 1 for the elements of all tiles.
__device__ inline void process_tiles(TileRing& ring, const float* x, float* y) {
  auto release = [&](int stage) {
    sync_warp();  // all lanes have read it
    if (lane_of_thread() == 0) mbarrier_arrive(&ring.empty[stage]);
  };
  int thread = static_cast<int>(threadIdx.x) - kWarp;
  for (int n = 0;; ++n) {
    int stage = n % kTileStages;
    unsigned parity = static_cast<unsigned>(n / kTileStages) % 2;
    mbarrier_wait(&ring.full[stage], parity);
    int tile = ring.tile[stage];
    release(stage);
    if (tile < 0) return;
    int i = tile * kConsumerThreads + thread;
    y[i] = x[i] + 1;
  }
}

__global__ inline void tile_info_kernel(const int* order, int count, const float* x, float* y) {
  TileRing& ring = *shared_memory<TileRing>();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kTileStages; ++stage) {
      mbarrier_init(&ring.full[stage], 1);
      mbarrier_init(&ring.empty[stage], kConsumerWarps);
    }
  }
  sync_block();  // the barriers exist
  if (threadIdx.x < kWarp)
    schedule_tiles(ring, order, count);
  else
    process_tiles(ring, x, y);
}

}  // namespace sink::cuda
