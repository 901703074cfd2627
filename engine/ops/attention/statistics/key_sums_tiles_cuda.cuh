// The sums of every key in BF16: a warp keeps the sums of 64 keys in registers while its block iterates over the tiles
// of 32 queries that see them, and computes each weight once, by tensor cores as in the backward pass.
//
// Sums by distance: a warp's scores are blocks of 8 x 8, of which each lane has two elements. In the blocks of one
// diagonal these two have the same distances, so the lane adds them up in registers. Sums to which no later tile adds
// are stored in shared memory, in 8 rows, one for each row of a block, and added up along the diagonals of these.
#pragma once

#include "engine/cuda/vectors.cuh"
#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

template <class Similarity>
void accept_sums_to_one(const SumsToOne<Similarity>&);
// No weight is negative and each row sums to one.
template <class Op>
concept ProxyIsWeight = requires(const Op& op) {
  accept_sums_to_one(op);
};

// Of every row: TileWeights' shift and 1 / z, 1 / sum_j |a_ij|, and the extra key's weight and proxy weight.
struct KeySumRows {
  static constexpr int extra = 3, count = 5;
  float *shift_BHT, *inverse_z_BHT, *inverse_sum_BHT, *extra_raw_BHT, *extra_proxy_BHT;

  KeySumRows(float* rows_RBHT, std::int64_t rows)
      : shift_BHT(rows_RBHT),
        inverse_z_BHT(rows_RBHT + rows),
        inverse_sum_BHT(rows_RBHT + 2 * rows),
        extra_raw_BHT(rows_RBHT + extra * rows),
        extra_proxy_BHT(rows_RBHT + 4 * rows) {}
};

// The sums of one key.
struct KeySum {
  float raw = 0, proxy = 0, largest = 0;

  __device__ void add(float weight, float weight_proxy) {
    raw += weight;
    proxy += weight_proxy;
    largest = fmaxf(largest, weight_proxy);
  }
};

struct KeySumOutputs {
  float *raw_BHK, *proxy_BHK, *largest_BHK;
  float* by_distance_BHWK;  // zero before; of each of `warps` warps of a head
  std::int64_t warps;

  __device__ void store(std::int64_t bhk, const KeySum& sum) const {
    raw_BHK[bhk] = sum.raw;
    proxy_BHK[bhk] = sum.proxy;
    largest_BHK[bhk] = sum.proxy >= 0 ? sum.largest : sum.proxy;  // NaN, which fmaxf ignores
  }
};

template <int kWidth>
struct KeySumShape {
  static constexpr int kM = 4, kQueries = 32, kWarpKeys = 16 * kM, kKeys = kTileWarps * kWarpKeys;
  static constexpr int kHalves = 2 * kM, kBlocks = kQueries / 8;  // 8 x 8 blocks of a warp's scores: rows, columns
  static constexpr int kStride = kQueries + 8;                    // of the 8 rows of sums by distance

  using Keys = SharedTile<kKeys, kWidth>;
  using Queries = SharedTile<kQueries, kWidth>;
  using Bias = SharedBias<kQueries, kKeys>;
  using Rows = SharedRows<kQueries>;
  using Diagonals = SharedFloats<kTileWarps * 8 * kStride>;
  using Scores = ScoreTile<true, kQueries, kKeys>;
  static constexpr std::size_t kBytes =
      Keys::kBytes + 2 * (Queries::kBytes + Bias::kBytes + Rows::kBytes) + Diagonals::kBytes;
  static_assert(kBytes <= kMaxSharedBytes);
};

// Warps of a head in F32 and blocks of a head in BF16: enough to fill a GPU, and no more than there are keys. They do
// not depend on the device, so that sums have the same bits on every one.
inline std::int64_t key_sum_warps(std::int64_t heads, std::int64_t keys) {
  return std::min(keys, (1024 + heads - 1) / heads);
}
inline std::int64_t key_sum_blocks(std::int64_t heads, std::int64_t keys) {
  constexpr std::int64_t kKeys = KeySumShape<64>::kKeys;
  return std::min((keys + kKeys - 1) / kKeys, (256 + heads - 1) / heads);
}

template <class Op, int kWidth>
struct KeySumBlock {
  using Shape = KeySumShape<kWidth>;
  static constexpr int kM = Shape::kM, kQueries = Shape::kQueries, kHalves = Shape::kHalves, kBlocks = Shape::kBlocks;

  const Op& op;
  AttentionHead head;
  AttentionBackward<bf16> rows_in;  // m: the shift; z' D: 1 / sum |a_ij|
  const KeySumOutputs& out;
  float* by_distance_K;  // of this warp
  typename Shape::Keys k;
  DoubleBuffer<typename Shape::Queries> q;
  DoubleBuffer<typename Shape::Rows> rows;
  DoubleBuffer<typename Shape::Bias> bias;
  typename Shape::Diagonals diagonals;
  KeySum sums[kHalves];  // of keys fragment_row(2 * (half % 2)) of fragment half / 2, over this lane's queries
  float by_diagonal[kBlocks + kHalves - 1][2], last_block[2];

  __device__ KeySumBlock(const Op& op, const AttentionArguments<bf16>& a, const KeySumRows& rows,
                         const KeySumOutputs& out)
      : op(op),
        head(a, static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x)),
        rows_in{a, nullptr, nullptr, rows.shift_BHT, nullptr, rows.inverse_z_BHT, rows.inverse_sum_BHT},
        out(out) {
    allocate_shared(k, q, this->rows, bias, diagonals);
    std::int64_t bh = static_cast<std::int64_t>(blockIdx.y) * a.H + head.h;
    by_distance_K = out.by_distance_BHWK + (bh * out.warps + blockIdx.z * kTileWarps + warp()) * a.K;
  }

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / kWarp; }
  __device__ static int warp_key() { return warp() * Shape::kWarpKeys; }

  // The sums of the block's keys from first_key on, over all queries.
  __device__ void sum_keys(int first_key) {
    SINK_UNROLL
    for (KeySum& sum : sums) sum = {};
    SINK_UNROLL
    for (auto& of_block : by_diagonal) of_block[0] = of_block[1] = 0;
    last_block[0] = last_block[1] = 0;

    TileSpan keys{first_key, first_key + Shape::kKeys < head.K ? first_key + Shape::kKeys : head.K};
    TileSpan bounds = head.range().query_bounding_range(head.positions({0, head.T}), keys);
    if (bounds.empty()) return store(first_key);
    int first_tile = (bounds.begin - head.shift) / kQueries,
        end_tile = (bounds.end - head.shift + kQueries - 1) / kQueries;
    k.copy(head.key_row(head.a.k_BGKD, first_key), head.K - first_key, head.D);
    Pipeline pipeline(end_tile - first_tile, [&](int n, int stage) {
      int first_t = (first_tile + n) * kQueries;
      q[stage].copy(head.query_row(head.a.q_BHTD, first_t), head.T - first_t, head.D);
      rows[stage].copy(rows_in, head, first_t);
      bias[stage].load(head, first_t, first_key);
    });
    for (int n = 0; n < end_tile - first_tile; ++n) {
      int stage = pipeline.advance(n), first_t = (first_tile + n) * kQueries;
      TileSpan warp_keys{first_key + warp_key(), first_key + warp_key() + Shape::kWarpKeys};
      if (head.sees_all({first_t, first_t + kQueries}, warp_keys))
        add_tile<true>(stage, first_t, first_key);
      else if (!head.sees_nothing(head.queries(first_t, kQueries), warp_keys))
        add_tile<false>(stage, first_t, first_key);
      else
        clear_new_diagonals();
      store_diagonals(first_t + head.shift - warp_keys.begin);
    }
    constexpr int kLeft = (kHalves - 1) / kBlocks + 1;  // tiles without queries, until nothing is left to store
    for (int first_t = end_tile * kQueries; first_t < (end_tile + kLeft) * kQueries; first_t += kQueries) {
      clear_new_diagonals();
      store_diagonals(first_t + head.shift - first_key - warp_key());
    }
    store(first_key);
    sync_block();  // before the next keys and queries are copied
  }

  // kSeesAll: every query sees every key.
  template <bool kSeesAll>
  __device__ void add_tile(int stage, int first_t, int first_key) {
    AccumulatorFragment<kQueries> s[kM];
    multiply_transposed<kQueries>(s, k, warp_key(), q[stage]);
    float factor = 1;
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      typename Shape::Scores scores(head, bias[stage], first_t, first_key, warp_key() + 16 * mt, !kSeesAll);
      factor = scores.add_bias(s[mt]);
      if constexpr (!kSeesAll) scores.mask_scores(s[mt]);
    }
    factor *= TileWeights<Op>::kScale;
    KeySum of_tile[kHalves];  // added to the sums once, which keeps their error small
    SINK_UNROLL
    for (int n = 0; n < kBlocks; ++n) {
      int column = fragment_column(n, 0);  // the first of the lane's two queries
      auto shift = load_vector<2>(&rows[stage].m(column));
      auto inverse_z = load_vector<2>(&rows[stage].inverse_z(column));
      auto inverse_sum = load_vector<2>(&rows[stage].dz_D(column));
      SINK_UNROLL
      for (int half = 0; half < kHalves; ++half) {
        SINK_UNROLL
        for (int e = 0; e < 2; ++e) {
          float score = s[half / 2][n][half % 2 * 2 + e];
          TileWeights<Op> weights(op, shift[e], inverse_z[e]);
          float weight = kSeesAll || !is_masked(score) ? weights.a(weights.x(factor, score)) : 0;
          float proxy = ProxyIsWeight<Op> ? weight : fabsf(weight) * inverse_sum[e];
          float& diagonal = by_diagonal[n - half + kHalves - 1][e];
          diagonal = half == 0 ? proxy : diagonal + proxy;  // to the keys' first row no tile before has added
          if (n + e == 0)
            of_tile[half] = {weight, proxy, proxy};
          else
            of_tile[half].add(weight, proxy);
        }
      }
    }
    SINK_UNROLL
    for (int half = 0; half < kHalves; ++half) {
      sums[half].raw += of_tile[half].raw;
      sums[half].proxy += of_tile[half].proxy;
      sums[half].largest = fmaxf(sums[half].largest, of_tile[half].largest);
    }
  }

  __device__ void clear_new_diagonals() {
    SINK_UNROLL
    for (int n = kHalves - 1; n < kBlocks + kHalves - 1; ++n) by_diagonal[n][0] = by_diagonal[n][1] = 0;
  }

  // Adds the finished sums by distance to those of the warp, and moves the others to the next tile. `distance`: of the
  // first query of the tile and the first key of the warp.
  __device__ void store_diagonals(int distance) {
    float* rows = &diagonals.at(warp() * 8 * Shape::kStride);
    int lane = lane_of_thread();
    float* own = rows + lane / 4 * Shape::kStride + lane % 4 * 2;
    own[0] = last_block[0], own[1] = last_block[1];
    SINK_UNROLL
    for (int n = 0; n < kBlocks; ++n) own[8 * n + 8] = by_diagonal[n][0], own[8 * n + 9] = by_diagonal[n][1];
    SINK_UNROLL
    for (int e = 0; e < 2; ++e) {
      last_block[e] = by_diagonal[kBlocks - 1][e];
      SINK_UNROLL
      for (int n = 0; n < kHalves - 1; ++n) by_diagonal[n][e] = by_diagonal[kBlocks + n][e];
    }
    sync_warp();
    SINK_UNROLL
    for (int n = 0; n < kQueries / kWarp; ++n) {
      int column = lane + n * kWarp, d = distance - 8 * kHalves + column;
      float sum = 0;
      SINK_UNROLL
      for (int row = 0; row < 8; ++row) sum += rows[row * Shape::kStride + column + row];
      if (d >= 0 && d < head.K) by_distance_K[d] += sum;
    }
    sync_warp();
  }

  __device__ void store(int first_key) const {
    SINK_UNROLL
    for (int half = 0; half < kHalves; ++half) {
      KeySum sum{quad_sum(sums[half].raw), quad_sum(sums[half].proxy), quad_max(sums[half].largest)};
      int j = first_key + warp_key() + half / 2 * 16 + fragment_row(half % 2 * 2);
      std::int64_t bh = static_cast<std::int64_t>(blockIdx.y) * head.a.H + head.h;
      if (j < head.K && is_quad_leader()) out.store(bh * head.K + j, sum);
    }
  }
};

template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_key_sums_kernel(Op op, AttentionArguments<bf16> a, KeySumRows rows, KeySumOutputs out) {
  KeySumBlock<Op, kWidth> block(op, a, rows, out);
  constexpr int kKeys = KeySumShape<kWidth>::kKeys;
  for (int tile = static_cast<int>(blockIdx.z); tile * kKeys < block.head.K; tile += static_cast<int>(gridDim.z))
    block.sum_keys(tile * kKeys);
}

template <class Op>
void attention_key_sums_in_tiles(const Op& op, const Tensor& q, const Tensor& k, const AttentionConfig& config,
                                 const KeySumRows& rows, const KeySumOutputs& out) {
  check_rows(q, k);
  auto a = attention_arguments<bf16>(q, k, k, config);
  with_tile_width(a.D, [&](auto width) {
    Grid grid{tile_blocks(a.H, a.B, out.warps / kTileWarps, 1), kTileThreads, KeySumShape<width()>::kBytes};
    launch(grid, attention_tiles_key_sums_kernel<Op, width()>, op, a, rows, out);
  });
}

}  // namespace sink::cuda
