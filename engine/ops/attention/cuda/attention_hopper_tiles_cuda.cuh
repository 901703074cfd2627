// What the kernels on Hopper share: which block has which rows, and how rows are stored. And of the forward pass:
// shared memory with its mbarriers, and the warp that fills it with tensor copies.
#pragma once

#include <algorithm>

#include "engine/cuda/hopper_instructions.cuh"
#include "engine/ops/attention/cuda/attention_hopper_cuda.h"
#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

inline constexpr int kWarpgroup = 128, kConsumers = 2;

// Blocks of threads: a head of a group (x), a tile (y) and a group (z). `heads` are counted over all sequences. The
// blocks of a group start together: heads with `elements` keys and values each that fit hopper_cache_bytes.
inline dim3 hopper_blocks(std::int64_t heads, std::int64_t elements, std::int64_t rows, int rows_per_tile) {
  constexpr std::int64_t kMostGroups = 65535;
  std::int64_t together =
      std::clamp<std::int64_t>(hopper_cache_bytes / (2 * elements + 1), 1, std::max<std::int64_t>(heads, 1));
  while (heads % together != 0) --together;
  if (heads / together > kMostGroups) together = heads;
  return {blocks_for(together, 1), blocks_for(rows, rows_per_tile), blocks_for(heads, together)};
}

// The sequence, head and tile of a block.
struct BlockPlace {
  int head_of_all, b, h, tile;

  // Recomputed where it is used, because registers are scarce between.
  __device__ explicit BlockPlace(int heads)
      : head_of_all(opaque(static_cast<int>(blockIdx.z)) * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)),
        b(head_of_all / heads),
        h(head_of_all - b * heads),
        tile(static_cast<int>(blockIdx.y)) {}
  // The last queries see the most keys, so their blocks start first.
  __device__ int last_tile() const { return static_cast<int>(gridDim.y) - 1 - tile; }
};

// Stores two rows of a lane's fragment, times factors, to rows of D values. A row is null where it does not exist.
template <int kWidth>
__device__ void store_lane_rows(const AccumulatorFragment<kWidth>& sums, int D, bf16* const (&rows_D)[2],
                                const float (&factors)[2]) {
  SINK_UNROLL
  for (int half = 0; half < 2; ++half) {
    if (!rows_D[half]) continue;
    bf16* to = rows_D[half] + fragment_column(0, 0);
    SINK_UNROLL
    for (int n = 0; n < kWidth / 8; ++n)  // D is a multiple of 8
      if (8 * n < D)
        *reinterpret_cast<Bf16Pair*>(to + 8 * n) =
            pack_bf16x2(factors[half] * sums[n][2 * half], factors[half] * sums[n][2 * half + 1]);
  }
}

__device__ inline int warpgroup_of_thread() { return uniform(static_cast<int>(threadIdx.x) / kWarpgroup); }

template <int kWidth>
struct HopperShape {
  static constexpr int kRows = 64;  // queries of a consumer
  static constexpr int kQueries = kConsumers * kRows, kKeys = 128, kStages = 2;
  // A tile is stored in slabs of 64 or 32 columns, whose rows are as long as the swizzle.
  static constexpr int kRowBytes = kWidth % 64 == 0 ? 128 : 64;
  static constexpr int kSlabColumns = kRowBytes / 2, kSlabs = kWidth / kSlabColumns;
  static constexpr int kQuerySlab = kRows * kRowBytes, kKeySlab = kKeys * kRowBytes;
  static constexpr int kQueryBytes = kSlabs * kQuerySlab, kKeyBytes = kSlabs * kKeySlab;

  using Tiles = KeyTiles<kQueries, kKeys, kWidth>;
  using Bias = SharedBias<kQueries, kKeys>;
};

// The mbarriers of a stage: its tile has arrived, and both consumers have used it.
struct StageBarriers {
  Mbarrier full, empty;
};

template <int kWidth>
struct HopperMemory {
  using Shape = HopperShape<kWidth>;
  static constexpr int kAlignment = 1024;  // the swizzle repeats after eight rows
  static constexpr int kBiasBytes = static_cast<int>(Shape::Bias::kBytes);
  static constexpr int kKeys = kConsumers * Shape::kQueryBytes, kValues = kKeys + Shape::kStages * Shape::kKeyBytes,
                       kBiases = kValues + Shape::kStages * Shape::kKeyBytes,
                       kBarriers = kBiases + Shape::kStages * kBiasBytes;
  static constexpr std::size_t kBytes =
      kAlignment + kBarriers + sizeof(Mbarrier) + 2 * Shape::kStages * sizeof(StageBarriers);

  int begin;  // bytes from the start of shared memory

  __device__ HopperMemory() {
    int past = static_cast<int>(shared_address(shared_memory<std::byte>()) % kAlignment);
    begin = past == 0 ? 0 : kAlignment - past;
  }
  __device__ std::byte* at(int bytes) const { return shared_memory<std::byte>() + begin + bytes; }
  __device__ std::byte* queries(int consumer) const { return at(consumer * Shape::kQueryBytes); }
  __device__ std::byte* keys(int stage) const { return at(kKeys + stage * Shape::kKeyBytes); }
  __device__ std::byte* values(int stage) const { return at(kValues + stage * Shape::kKeyBytes); }
  __device__ typename Shape::Bias bias(int stage) const {
    typename Shape::Bias made;
    made.offset = (begin + kBiases + stage * kBiasBytes) / 4;
    return made;
  }
  __device__ Mbarrier* queries_full() const { return reinterpret_cast<Mbarrier*>(at(kBarriers)); }
  __device__ StageBarriers* key_barriers() const { return reinterpret_cast<StageBarriers*>(queries_full() + 1); }
  __device__ StageBarriers* value_barriers() const { return key_barriers() + Shape::kStages; }

  __device__ void init_barriers() const {
    mbarrier_init(queries_full(), 1);
    for (int stage = 0; stage < 2 * Shape::kStages; ++stage) {
      mbarrier_init(&key_barriers()[stage].full, 1);
      mbarrier_init(&key_barriers()[stage].empty, kConsumers * kWarpgroup / kWarp);  // one arrival per warp
    }
    fence_mbarrier_init();
  }
};

// The n-th use of the stages: which one, and the parity of its phase.
struct StageUse {
  int n = 0;
  __device__ int stage() const { return n % 2; }
  __device__ unsigned parity() const { return static_cast<unsigned>(n) / 2 % 2; }
};

// The warp that copies tiles.
template <int kWidth>
struct HopperProducer {
  using Shape = HopperShape<kWidth>;

  const AttentionHead& head;
  const typename Shape::Tiles& tiles;
  int first_t, query_head, key_head;  // the heads are counted over all sequences
  HopperMemory<kWidth> memory;
  StageUse key_use, value_use;

  template <int kSlabBytes>
  __device__ static void load(std::byte* to, const TensorMap& map, Mbarrier* full, int row, int of_head) {
    SINK_UNROLL
    for (int slab = 0; slab < Shape::kSlabs; ++slab)
      tma_load(to + slab * kSlabBytes, map, full, {slab * Shape::kSlabColumns, row, of_head});
  }

  __device__ void load_queries(const TensorMap& map) const {
    if (lane_of_thread() != 0) return;
    mbarrier_arrive_expect_tx(memory.queries_full(), kConsumers * Shape::kQueryBytes);
    for (int c = 0; c < kConsumers; ++c)
      load<Shape::kQuerySlab>(memory.queries(c), map, memory.queries_full(), first_t + c * Shape::kRows, query_head);
  }

  // Waits until the stage is empty, and starts to fill it. All lanes.
  template <class LoadBias>
  __device__ void load_tile(StageUse& use, StageBarriers* barriers, std::byte* to, const TensorMap& map, int row,
                            LoadBias load_bias) {
    StageBarriers& stage = barriers[use.stage()];
    if (use.n >= Shape::kStages) mbarrier_wait(&stage.empty, 1 - use.parity());
    load_bias();
    sync_warp();  // lane 0 arrives for all
    if (lane_of_thread() == 0) {
      mbarrier_arrive_expect_tx(&stage.full, Shape::kKeyBytes);
      load<Shape::kKeySlab>(to, map, &stage.full, row, key_head);
    }
    ++use.n;
  }

  __device__ void load_bias(const typename Shape::Bias& bias, int first_key) const {
    if (!head.a.bias_HT) return;
    const float* bias_T = head.a.bias_HT + head.h * head.a.bias_columns;
    int last = static_cast<int>(head.a.bias_columns) - 1,
        nearest = first_t + head.shift - first_key - (Shape::kKeys - 1);
    for (int n = lane_of_thread(); n < Shape::kQueries + Shape::kKeys - 1; n += kWarp) {
      int distance = nearest + n < 0 ? 0 : nearest + n;
      bias.at(n) = bias_T[distance < last ? distance : last];
    }
  }

  // The tiles of one pass; without values where kWeigh is false.
  template <bool kWeigh>
  __device__ void load_pass(const TensorMap& k, const TensorMap& v) {
    for (int n = 0; n < tiles.count(); ++n) {
      int first_key = tiles.first_key(n);
      load_tile(key_use, memory.key_barriers(), memory.keys(key_use.stage()), k, first_key,
                [&] { load_bias(memory.bias(key_use.stage()), first_key); });
      if (kWeigh) load_tile(value_use, memory.value_barriers(), memory.values(value_use.stage()), v, first_key, [] {});
    }
  }
};

}  // namespace sink::cuda
