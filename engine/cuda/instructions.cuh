// Instructions that C++ cannot express, one function each: PTX or an intrinsic for a GPU, and its emulation for the
// emulated device, where a function also knows its call site, for messages.
#pragma once

#include "engine/cuda/device.cuh"

#ifndef __CUDACC__
#include <cmath>

#include "engine/dtype.h"
#endif

namespace sink::cuda {

#ifdef __CUDACC__
#define SINK_SITE
#define SINK_AND_SITE
#else
#define SINK_SITE const emulated::Site& site = emulated::Site::current()
#define SINK_AND_SITE , const emulated::Site& site = emulated::Site::current()
#endif

// __syncthreads(): waits for all threads of the block, and makes their writes visible to the block.
__device__ inline void sync_block(SINK_SITE) {
#ifdef __CUDACC__
  __syncthreads();
#else
  emulated::barrier(site);
#endif
}

// __syncwarp(): the same for the 32 lanes of a warp.
__device__ inline void sync_warp(SINK_SITE) {
#ifdef __CUDACC__
  __syncwarp();
#else
  emulated::warp_barrier(site);
#endif
}

// Returns x of lane (own lane xor mask). All lanes.
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

// x. The compiler does not know that, so it computes what follows from x where that is used, and keeps none of it in
// registers during a loop.
__device__ inline int opaque(int x) {
#ifdef __CUDACC__
  asm volatile("" : "+r"(x));
#endif
  return x;
}

// x, which is the same in all lanes. nvcc then keeps what is computed from it in uniform registers. All lanes.
__device__ inline int uniform(int x) {
#ifdef __CUDACC__
  return __shfl_sync(0xffffffff, x, 0);
#else
  return x;
#endif
}

// Whether the condition holds in any lane. All lanes.
__device__ inline bool any_lane(bool condition SINK_AND_SITE) {
#ifdef __CUDACC__
  return __any_sync(0xffffffffu, condition);
#else
  bool own = condition;
  emulated::collective(
      "any_lane",
      [](void* lanes[32]) {
        bool any = false;
        for (int l = 0; l < 32; ++l) any = any || *static_cast<bool*>(lanes[l]);
        for (int l = 0; l < 32; ++l) *static_cast<bool*>(lanes[l]) = any;
      },
      &own, site);
  return own;
#endif
}

// cp.async (sm_80): starts to copy 16 bytes to shared memory; where `exists` is false it writes zeros and reads
// nothing. Both addresses are aligned to 16. The bytes may be read after cp_async_wait_group and a barrier with the
// readers.
__device__ inline void cp_async_16(void* shared, const void* from, bool exists SINK_AND_SITE) {
#ifdef __CUDACC__
  unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared)), bytes = exists ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#else
  emulated::copy_async(shared, exists ? from : nullptr, 16, site);
#endif
}

// The same for 4 bytes, aligned to 4.
__device__ inline void cp_async_4(void* shared, const void* from, bool exists SINK_AND_SITE) {
#ifdef __CUDACC__
  unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared)), bytes = exists ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#else
  emulated::copy_async(shared, exists ? from : nullptr, 4, site);
#endif
}

// Groups the copies that this thread has started since its last group.
__device__ inline void cp_async_commit_group() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulated::commit_copies();
#endif
}

// Waits until at most the latest kGroups of this thread's groups are in flight.
template <int kGroups>
__device__ void cp_async_wait_group() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#else
  emulated::wait_for_copies(kGroups);
#endif
}

using Bf16Pair = std::uint32_t;  // the first value in the lower half

// Rounds both to nearest even.
__device__ inline Bf16Pair pack_bf16x2(float first, float second) {
#ifdef __CUDACC__
  Bf16Pair pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
#else
  return std::bit_cast<std::uint16_t>(bf16(first)) | Bf16Pair{std::bit_cast<std::uint16_t>(bf16(second))} << 16;
#endif
}

}  // namespace sink::cuda
