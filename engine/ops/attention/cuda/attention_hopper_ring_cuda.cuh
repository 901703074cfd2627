// What the backward kernels on Hopper share. A block has 128 rows and three warpgroups. One warp of the first, the
// producer, copies tiles to shared memory; each of the others, the consumers, has 64 of the rows. Two tiles of each
// consumer stay: queries and do, or keys and values. Those of the other side come through a ring of stages.
#pragma once

#include "engine/cuda/hopper_instructions.cuh"
#include "engine/ops/attention/cuda/attention_hopper_tiles_cuda.cuh"

namespace sink::cuda {

// A tile of 64 rows in shared memory: slabs of 64 or 32 columns, whose rows are as long as the swizzle.
template <int kWidth>
struct HopperTile {
  static constexpr int kRows = 64, kRowBytes = kWidth % 64 == 0 ? 128 : 64, kSlabColumns = kRowBytes / 2,
                       kSlabs = kWidth / kSlabColumns, kSlabBytes = kRows * kRowBytes, kBytes = kSlabs * kSlabBytes;

  std::byte* shared;

  // For copies of rows of a (B, heads, T, D) tensor; `of_head` below counts the heads over all sequences.
  static TensorMap map(const bf16* data, std::int64_t D, std::int64_t rows, std::int64_t heads) {
    return tensor_map(data, {D, rows, heads}, {kSlabColumns, kRows, 1}, kRowBytes);
  }
  // Starts to copy 64 rows, with zeros after the last. One thread.
  __device__ void load(const TensorMap& map, Mbarrier* full, int row, int of_head) const {
    SINK_UNROLL
    for (int slab = 0; slab < kSlabs; ++slab)
      tma_load(shared + slab * kSlabBytes, map, full, {slab * kSlabColumns, row, of_head});
  }
  __device__ std::uint64_t descriptor() const { return matrix_descriptor<kRowBytes>(shared, kSlabBytes); }
};

// Starts x = left right^T.
template <int kWidth>
__device__ void multiply_rows(AccumulatorFragment<64>& x, const HopperTile<kWidth>& left,
                              const HopperTile<kWidth>& right) {
  using Tile = HopperTile<kWidth>;
  SINK_UNROLL
  for (int d = 0; d < kWidth; d += 16) {
    int bytes = d / Tile::kSlabColumns * Tile::kSlabBytes + d % Tile::kSlabColumns * 2;
    wgmma_rows(x, advanced(left.descriptor(), bytes), advanced(right.descriptor(), bytes), d > 0);
  }
}
// Starts sums += weights tile.
template <int kWidth>
__device__ void multiply_columns(AccumulatorFragment<kWidth>& sums, const OperandFragment<64>& weights,
                                 const HopperTile<kWidth>& tile) {
  SINK_UNROLL
  for (int j = 0; j < 4; ++j)
    wgmma_columns(sums, weights[j], advanced(tile.descriptor(), j * 16 * HopperTile<kWidth>::kRowBytes));
}

// Of two tensors, for copies of the same rows.
struct TensorMaps {
  TensorMap of[2];
};

// Turns q . k into scores but for the factor that is returned: s_ij = factor s[n][e]. Without a bias it is the scale,
// so that s_ij - m is one FFMA. bias_of(n, e): of an element.
template <class BiasOf>
__device__ float add_bias(const AttentionArguments<bf16>& a, AccumulatorFragment<64>& s, BiasOf bias_of) {
  if (!a.bias_HT && a.scale > 0) return a.scale;
  bool has_bias = a.bias_HT != nullptr;
  for_each_accumulator<64>([&](int n, int e) { s[n][e] = fmaf(a.scale, s[n][e], has_bias ? bias_of(n, e) : 0.0f); });
  return 1;
}

// Shared memory of a block, and the place of a warp in the ring. A stage has two tiles and kFloats floats.
template <int kWidth, int kFloats>
struct HopperRing {
  using Tile = HopperTile<kWidth>;
  static constexpr int kAlignment = 1024, kStages = 4;
  static constexpr int kStageTiles = kConsumers * 2 * Tile::kBytes,
                       kStageFloats = kStageTiles + kStages * 2 * Tile::kBytes,
                       kBarriers = kStageFloats + kStages * kFloats * 4;
  static constexpr std::size_t kBytes = kAlignment + kBarriers + sizeof(Mbarrier) + kStages * sizeof(StageBarriers);

  int begin;  // bytes from the start of shared memory

  __device__ HopperRing() {
    int past = static_cast<int>(shared_address(shared_memory<std::byte>()) % kAlignment);
    begin = past == 0 ? 0 : kAlignment - past;
  }
  __device__ std::byte* at(int bytes) const { return shared_memory<std::byte>() + begin + bytes; }
  // The first or second tile of a consumer.
  __device__ Tile own_tile(int consumer, int which) const { return {at((2 * consumer + which) * Tile::kBytes)}; }
  __device__ Mbarrier* own_full() const { return reinterpret_cast<Mbarrier*>(at(kBarriers)); }

  // Of the use n of a stage, 0, 1, ...
  __device__ static int stage(int n) { return n % kStages; }
  __device__ static unsigned parity(int n) { return static_cast<unsigned>(n) / kStages % 2; }
  __device__ Tile tile(int n, int which) const { return {at(kStageTiles + (2 * stage(n) + which) * Tile::kBytes)}; }
  __device__ int floats(int n) const {
    return (begin + kStageFloats) / 4 + stage(n) * kFloats;
  }  // SharedFloats::offset
  __device__ StageBarriers& barriers(int n) const {
    return reinterpret_cast<StageBarriers*>(at(kBarriers + static_cast<int>(sizeof(Mbarrier))))[stage(n)];
  }

  __device__ void init_barriers() const {
    mbarrier_init(own_full(), 1);
    for (int n = 0; n < kStages; ++n) {
      mbarrier_init(&barriers(n).full, 2);                                 // the copies, and the floats
      mbarrier_init(&barriers(n).empty, kConsumers * kWarpgroup / kWarp);  // one arrival per warp
    }
    fence_mbarrier_init();
  }

  // The producer: starts to copy the rows of the block, from `row` on, of two tensors.
  __device__ void load_own_tiles(const TensorMap (&maps)[2], int row, int of_head) const {
    if (lane_of_thread() != 0) return;
    mbarrier_arrive_expect_tx(own_full(), 2 * kConsumers * Tile::kBytes);
    for (int consumer = 0; consumer < kConsumers; ++consumer)
      for (int which = 0; which < 2; ++which)
        own_tile(consumer, which).load(maps[which], own_full(), row + consumer * Tile::kRows, of_head);
  }
  // The producer: waits until the stage of use n is empty, and starts to fill it. load_floats(): by all lanes.
  template <class LoadFloats>
  __device__ void load_stage(int n, const TensorMap (&maps)[2], int row, int of_head, LoadFloats load_floats) const {
    bool copies = lane_of_thread() == 0;
    if (n >= kStages) mbarrier_wait(&barriers(n).empty, 1 - parity(n));
    if (copies) {
      mbarrier_arrive_expect_tx(&barriers(n).full, 2 * Tile::kBytes);
      for (int which = 0; which < 2; ++which) tile(n, which).load(maps[which], &barriers(n).full, row, of_head);
    }
    load_floats();
    sync_warp();
    if (copies) mbarrier_arrive(&barriers(n).full);  // for the floats of all lanes
  }

  // A consumer: waits until the stage of use n is full.
  __device__ void wait_for_stage(int n) const { mbarrier_wait(&barriers(n).full, parity(n)); }
  // The warp has used it.
  __device__ void release_stage(int n) const {
    sync_warp();
    if (lane_of_thread() == 0) mbarrier_arrive(&barriers(n).empty);
  }
};

}  // namespace sink::cuda
