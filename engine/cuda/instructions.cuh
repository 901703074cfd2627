// Every instruction that C++ has no words for, as a function: PTX or an intrinsic for a GPU, and beside it what it
// means, for the emulated device. On the latter each also knows where it was called from, for messages.
#pragma once

#include "engine/cuda/device.cuh"

#ifndef __CUDACC__
#include <cmath>
#endif

namespace sink::cuda {

#ifdef __CUDACC__
#define SINK_SITE
#define SINK_AND_SITE
#else
#define SINK_SITE const emulated::Site& site = emulated::Site::current()
#define SINK_AND_SITE , const emulated::Site& site = emulated::Site::current()
#endif

// Waits for all threads of the block; what they wrote before is seen by all after.
__device__ inline void sync_block(SINK_SITE) {
#ifdef __CUDACC__
  __syncthreads();
#else
  emulated::barrier(site);
#endif
}

// The same among the 32 lanes of a warp.
__device__ inline void sync_warp(SINK_SITE) {
#ifdef __CUDACC__
  __syncwarp();
#else
  emulated::warp_barrier(site);
#endif
}

// The x of lane (own lane xor mask). All lanes.
__device__ inline float shuffle_xor(float x, int mask SINK_AND_SITE) {
#ifdef __CUDACC__
  return __shfl_xor_sync(0xffffffffu, x, mask);
#else
  struct Lane {
    float in, out;
    int mask;
  } own{x, 0, mask};
  emulated::collective(
      "shuffle_xor",
      [](void* lanes[32]) {
        for (int l = 0; l < 32; ++l) {
          auto* lane = static_cast<Lane*>(lanes[l]);
          lane->out = static_cast<Lane*>(lanes[l ^ lane->mask])->in;
        }
      },
      &own, site);
  return own.out;
#endif
}

// Begins to copy 16 bytes to shared memory, or zeros where `real` is false, and nothing is read. Both addresses are
// multiples of 16. What lies there may be read once wait_for_copies has said so and the readers were synchronised.
// cp.async, sm_80.
__device__ inline void copy_async_16(void* shared, const void* from, bool real SINK_AND_SITE) {
#ifdef __CUDACC__
  unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared)), bytes = real ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#else
  emulated::copy_async(shared, real ? from : nullptr, 16, site);
#endif
}

// The copies that this thread has begun since its last group are a group.
__device__ inline void commit_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulated::commit_copies();
#endif
}

// Until at most kGroups of this thread's groups, the latest, are still on their way.
template <int kGroups>
__device__ void wait_for_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#else
  emulated::wait_for_copies(kGroups);
#endif
}

}  // namespace sink::cuda
