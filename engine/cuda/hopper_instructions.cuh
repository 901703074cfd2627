// Instructions of Hopper's (sm_90a) asynchronous copies and products, and of the barriers that order them.
//
// A tensor copy (TMA) is started by one thread and copies a box of a tensor to shared memory; an mbarrier counts its
// bytes. A wgmma is started by a warpgroup, four warps, and multiplies tiles in shared memory; its accumulators may be
// accessed after wgmma_wait_group. Rows of tiles have 64 or 128 bytes, whose chunks of 16 bytes are swizzled:
// chunk n of row r is stored in the place of chunk n ^ (r % 8), or n ^ (r / 2 % 4) in rows of 64 bytes.
#pragma once

#include <vector>

#include "engine/cuda/matrix_tiles.cuh"

#ifdef __CUDACC__
#include <cuda.h>
#else
#include "engine/cuda/emulated/block_threads.h"
#include "engine/cuda/emulated/mbarriers.h"
#include "engine/cuda/emulated/named_barriers.h"
#include "engine/cuda/emulated/races.h"
#include "engine/cuda/emulated/wgmma.h"
#endif

namespace sink::cuda {

#ifdef __CUDACC__
using TensorMap = CUtensorMap;
#define SINK_GRID_CONSTANT const __grid_constant__
#else
using TensorMap = emulated::TensorMap;
#define SINK_GRID_CONSTANT const
#endif

// Describes a contiguous bf16 tensor with 2 to 4 dimensions and the boxes that tma_load copies of it; dimensions from
// the contiguous one on. Rows of a box have at most `swizzle` bytes, 64 or 128; 0 is without a swizzle.
TensorMap tensor_map(const bf16* data, const std::vector<std::int64_t>& sizes, const std::vector<int>& box,
                     int swizzle);

// A 64-bit mbarrier in shared memory.
struct Mbarrier {
  std::uint64_t state;
};

// The address of the instructions below, in the shared memory of the block.
__device__ inline std::uint32_t shared_address(const void* shared) {
#ifdef __CUDACC__
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
#else
  return emulated::shared_address(shared);
#endif
}

// Every phase ends with this many arrivals, and the bytes that they expect. Before its first use by another thread:
// fence_mbarrier_init() and a barrier.
__device__ inline void mbarrier_init(Mbarrier* barrier, unsigned arrivals SINK_AND_SITE) {
#ifdef __CUDACC__
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
#else
  emulated::mbarrier_init(barrier, arrivals, site);
#endif
}

// Makes this thread's mbarrier_init visible to asynchronous copies.
__device__ inline void fence_mbarrier_init() {
#ifdef __CUDACC__
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
  emulated::fence_mbarrier_init();
#endif
}

__device__ inline void mbarrier_arrive(Mbarrier* barrier SINK_AND_SITE) {
#ifdef __CUDACC__
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
#else
  emulated::mbarrier_arrive(barrier, 0, site);
#endif
}

// The same, and the phase expects these bytes of copies.
__device__ inline void mbarrier_arrive_expect_tx(Mbarrier* barrier, unsigned bytes SINK_AND_SITE) {
#ifdef __CUDACC__
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
#else
  emulated::mbarrier_arrive(barrier, bytes, site);
#endif
}

// Waits for the end of a phase with this parity, 0 for phases 0, 2, ... and 1 for phases 1, 3, ... Returns at once if
// the current phase has the other parity.
__device__ inline void mbarrier_wait(Mbarrier* barrier, unsigned parity SINK_AND_SITE) {
#ifdef __CUDACC__
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "wait:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra complete;\n"
      "bra wait;\n"
      "complete:\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
#else
  emulated::mbarrier_wait(barrier, parity, site);
#endif
}

// Makes ordinary stores to shared memory that are ordered before it visible to the copies and products ordered after.
__device__ inline void fence_proxy_async() {
#ifdef __CUDACC__
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  if (const emulated::RaceHooks* races = emulated::race_hooks()) races->fence_proxy();
#endif
}

// Starts to copy the box of `map` at these coordinates, the contiguous dimension first, to shared memory; elements that
// the tensor does not have become zeros. All bytes of the box count for `barrier`. One thread. The destination is
// aligned to eight rows: 1024 or 512 bytes.
template <int kRank>
__device__ void tma_load(void* shared, const TensorMap& map, Mbarrier* barrier,
                         const int (&coordinates)[kRank] SINK_AND_SITE) {
  static_assert(kRank >= 2 && kRank <= 4);
#ifdef __CUDACC__
  const int* c = coordinates;
  std::uint32_t to = shared_address(shared), signals = shared_address(barrier);
#define SINK_TMA_LOAD(rank, coordinates)                                                                            \
  "cp.async.bulk.tensor." rank ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates \
  "}], [%2];"
  if constexpr (kRank == 2)
    asm volatile(SINK_TMA_LOAD("2d", "%3, %4")::"r"(to), "l"(&map), "r"(signals), "r"(c[0]), "r"(c[1]) : "memory");
  if constexpr (kRank == 3)
    asm volatile(SINK_TMA_LOAD("3d", "%3, %4, %5")::"r"(to), "l"(&map), "r"(signals), "r"(c[0]), "r"(c[1]), "r"(c[2])
                 : "memory");
  if constexpr (kRank == 4)
    asm volatile(SINK_TMA_LOAD("4d", "%3, %4, %5, %6")::"r"(to), "l"(&map), "r"(signals), "r"(c[0]), "r"(c[1]),
                 "r"(c[2]), "r"(c[3])
                 : "memory");
#undef SINK_TMA_LOAD
#else
  emulated::copy_tensor(shared, map, barrier, coordinates, kRank, site);
#endif
}

// bar.sync: waits until `threads` threads, whole warps, have arrived at barrier `id`, 1 to 15. All lanes.
__device__ inline void named_barrier_sync(int id, int threads SINK_AND_SITE) {
#ifdef __CUDACC__
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#else
  emulated::sync_named_barrier(id, threads, site);
#endif
}

// bar.arrive: arrives without a wait. All lanes.
__device__ inline void named_barrier_arrive(int id, int threads SINK_AND_SITE) {
#ifdef __CUDACC__
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#else
  emulated::arrive_at_named_barrier(id, threads, site);
#endif
}

// setmaxnreg: the registers of each thread of the warpgroup from here on. All of its threads.
template <int kRegisters>
__device__ void decrease_registers(SINK_SITE) {
#ifdef __CUDACC__
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#else
  emulated::set_max_registers(kRegisters, false, site);
#endif
}
template <int kRegisters>
__device__ void increase_registers(SINK_SITE) {
#ifdef __CUDACC__
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#else
  emulated::set_max_registers(kRegisters, true, site);
#endif
}

// ---- wgmma: products of 64 rows by a warpgroup ----

// A tile in shared memory: rows of kRowBytes, swizzled, whose groups of eight are contiguous. Where columns have more
// than kRowBytes, the next ones are in another such tile, `slab_bytes` further. (PTX ISA, "Matrix Descriptor Format")
template <int kRowBytes>
__device__ std::uint64_t matrix_descriptor(const void* tile, int slab_bytes) {
  static_assert(kRowBytes == 64 || kRowBytes == 128);
  return static_cast<std::uint64_t>((shared_address(tile) & 0x3ffff) >> 4) |
         static_cast<std::uint64_t>((slab_bytes & 0x3ffff) >> 4) << 16 |
         static_cast<std::uint64_t>(8 * kRowBytes >> 4) << 32 |
         static_cast<std::uint64_t>(kRowBytes == 128 ? 1 : 2) << 62;
}
// The descriptor of the tile that begins `bytes` further. Only the lower half changes.
__device__ inline std::uint64_t advanced(std::uint64_t descriptor, int bytes) {
  std::uint32_t lower = static_cast<std::uint32_t>(descriptor) + static_cast<std::uint32_t>(bytes >> 4);
  return (descriptor >> 32 << 32) | lower;
}

// Orders accesses of registers before the products after it. Each group begins with one. All threads of the warpgroup,
// as for the next two.
__device__ inline void wgmma_fence(SINK_SITE) {
#ifdef __CUDACC__
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#else
  emulated::wgmma_fence(site);
#endif
}

// Groups the products since the last group.
__device__ inline void wgmma_commit_group(SINK_SITE) {
#ifdef __CUDACC__
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
  emulated::wgmma_commit_group(site);
#endif
}

// Waits until at most the latest kGroups groups are in flight.
template <int kGroups>
__device__ void wgmma_wait_group(SINK_SITE) {
#ifdef __CUDACC__
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
#else
  emulated::wgmma_wait_group(kGroups, site);
#endif
}

// Tells nvcc that products change these registers asynchronously: it does not move accesses across. Without effect in
// the machine code. Before the first product and after the wait.
template <int kColumns>
__device__ void keep_in_order([[maybe_unused]] float (&x)[kColumns][4]) {
#ifdef __CUDACC__
  SINK_UNROLL
  for (int n = 0; n < kColumns; ++n)
    asm volatile("" : "+f"(x[n][0]), "+f"(x[n][1]), "+f"(x[n][2]), "+f"(x[n][3])::"memory");
#endif
}

#ifdef __CUDACC__
// Lists of operands: accumulators x[n][0..3], and their places in the instruction.
#define SINK_SUMS_8(x, n)                                                                                              \
  "+f"(x[n][0]), "+f"(x[n][1]), "+f"(x[n][2]), "+f"(x[n][3]), "+f"(x[n + 1][0]), "+f"(x[n + 1][1]), "+f"(x[n + 1][2]), \
      "+f"(x[n + 1][3])
#define SINK_SUMS_32(x, n) SINK_SUMS_8(x, n), SINK_SUMS_8(x, n + 2), SINK_SUMS_8(x, n + 4), SINK_SUMS_8(x, n + 6)
#define SINK_SUMS_48(x, n) SINK_SUMS_32(x, n), SINK_SUMS_8(x, n + 8), SINK_SUMS_8(x, n + 10)
#define SINK_SUMS_64(x, n) SINK_SUMS_32(x, n), SINK_SUMS_32(x, n + 8)
#define SINK_PLACES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define SINK_PLACES_32 SINK_PLACES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SINK_PLACES_48 SINK_PLACES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define SINK_PLACES_64 SINK_PLACES_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
// One product of `columns` columns with half as many accumulators. Its other operands are in the places from `a` on.
#define SINK_WGMMA_SHARED(columns, sums, a, b, c)                                                    \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" c                                            \
               ", 0;\n"                                                                              \
               "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.bf16.bf16 {" SINK_PLACES_##sums \
               "}, %" a ", %" b ", add, 1, 1, 0, 0;\n}"                                              \
               : SINK_SUMS_##sums(x, 0)                                                              \
               : "l"(left), "l"(right), "r"(static_cast<int>(accumulate)))
#define SINK_WGMMA_REGISTERS(columns, sums, a, b, c, d, e)                                           \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.bf16.bf16 {" SINK_PLACES_##sums \
               "}, {%" a ", %" b ", %" c ", %" d "}, %" e ", 1, 1, 1, 1;"                            \
               : SINK_SUMS_##sums(x, 0)                                                              \
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right))
#endif

// x = left right^T, or x += left right^T where `accumulate`: 64 rows of one tile and 8 kBlocks rows of another, 16
// columns of both. A warp has 16 rows of x.
template <int kBlocks>
__device__ void wgmma_rows(float (&x)[kBlocks][4], std::uint64_t left, std::uint64_t right,
                           bool accumulate SINK_AND_SITE) {
#ifdef __CUDACC__
  static_assert(kBlocks == 8 || kBlocks == 16);
  if constexpr (kBlocks == 8) SINK_WGMMA_SHARED(64, 32, "32", "33", "34");
  if constexpr (kBlocks == 16) SINK_WGMMA_SHARED(128, 64, "64", "65", "66");
#else
  emulated::WgmmaLane lane{x[0], nullptr, left, right, 8 * kBlocks, false, accumulate};
  emulated::wgmma(lane, site);
#endif
}

// x += left tile: 64 rows and 16 columns in registers, 16 rows and 8 kBlocks columns of a tile.
template <int kBlocks>
__device__ void wgmma_columns(float (&x)[kBlocks][4], const Bf16Pair (&left)[4], std::uint64_t right SINK_AND_SITE) {
#ifdef __CUDACC__
  static_assert(kBlocks == 8 || kBlocks == 12 || kBlocks == 16);
  if constexpr (kBlocks == 8) SINK_WGMMA_REGISTERS(64, 32, "32", "33", "34", "35", "36");
  if constexpr (kBlocks == 12) SINK_WGMMA_REGISTERS(96, 48, "48", "49", "50", "51", "52");
  if constexpr (kBlocks == 16) SINK_WGMMA_REGISTERS(128, 64, "64", "65", "66", "67", "68");
#else
  emulated::WgmmaLane lane{x[0], left, 0, right, 8 * kBlocks, true, true};
  emulated::wgmma(lane, site);
#endif
}

}  // namespace sink::cuda
