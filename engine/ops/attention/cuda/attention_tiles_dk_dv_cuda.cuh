// The gradients of keys and values in BF16: a block has 64 keys and keeps their dk and dv in registers while it
// iterates over the tiles of 64 queries that see them, in all heads of the group.
//
// Warp w computes the weights of keys 32 (w / 2) ... + 31 and queries 32 (w % 2) ... + 31, and sums dk and dv of the
// same keys over all queries in half of the columns. It has half of the weights for that in its registers, and reads
// the others, its neighbour's, from shared memory.
#pragma once

#include "engine/cuda/vectors.cuh"
#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

// A tile at width 128 is 8 x 64 x 64 x 128 = 4.2 MFLOP; its warps read 4 x 104 x 512 bytes = 208 KB of shared memory
// and write 16 KB of weights, and 32 KB are copied to it.
template <int kWidth>
struct DkDvShape {
  static constexpr int kKeys = 64, kQueries = 64;
  static constexpr int kWarpKeys = 32, kWarpQueries = 32;

  using Keys = SharedTile<kKeys, kWidth>;
  using Queries = SharedTile<kQueries, kWidth>;
  using Weights = SharedTile<kKeys, kQueries>;
  using Bias = SharedBias<kQueries, kKeys>;
  using Rows = SharedRows<kQueries>;
  static constexpr std::size_t kBytes =
      2 * Keys::kBytes + 2 * Queries::kBytes + 2 * Weights::kBytes + Bias::kBytes + Rows::kBytes;
  static_assert(kBytes <= kMaxSharedBytes);
};

template <class Op, int kWidth>
struct DkDvBlock {
  using Shape = DkDvShape<kWidth>;
  static constexpr int kM = Shape::kWarpKeys / 16, kKeys = Shape::kKeys, kQueries = Shape::kQueries;
  static constexpr int kWarpQueries = Shape::kWarpQueries;
  using Scores = ScoreTile<true, kWarpQueries, kKeys>;

  const Op& op;
  const AttentionBackward<bf16>& in;
  int b, g, first_key;
  typename Shape::Keys k, v;
  typename Shape::Queries q, grad_o;
  typename Shape::Weights a, ds;  // rounded, with keys as rows
  typename Shape::Bias bias;
  typename Shape::Rows rows;
  AccumulatorFragment<kWidth / 2> dk[kM], dv[kM];

  __device__ DkDvBlock(const Op& op, const AttentionBackward<bf16>& in, int b, int g, int first_key)
      : op(op), in(in), b(b), g(g), first_key(first_key) {
    allocate_shared(k, v, q, grad_o, a, ds, bias, rows);
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt)
      for_each_accumulator<kWidth / 2>([&](int n, int e) { dk[mt][n][e] = dv[mt][n][e] = 0; });
  }

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / kWarp; }
  __device__ static int warp_key() { return warp() / 2 * Shape::kWarpKeys; }
  // This warp's half of the queries and of the columns, and its neighbour's.
  __device__ static int half() { return warp() % 2; }
  __device__ static int other_half() { return 1 - half(); }

  // The n-th query head of the group.
  __device__ AttentionHead head(int n) const { return {in.a, b, g * in.a.queries_per_key_head + n, g}; }

  // Adds the terms of all queries that see a key of the block, in all heads of the group.
  __device__ void accumulate() {
    AttentionHead first = head(0);
    TileSpan keys{first_key, first_key + kKeys < first.K ? first_key + kKeys : first.K};
    TileSpan bounds = first.range().query_bounding_range(first.positions({0, first.T}), keys);
    if (bounds.empty()) return;
    int first_tile = (bounds.begin - first.shift) / kQueries,
        end_tile = (bounds.end - first.shift + kQueries - 1) / kQueries;
    k.copy(first.key_row(in.a.k_BGKD, first_key), first.K - first_key, first.D);
    v.copy(first.key_row(in.a.v_BGKD, first_key), first.K - first_key, first.D);
    copy_queries(first, first_tile * kQueries);
    // All queries of the tiles [full_begin, full_end) exist and see all keys.
    int last_of_first_key = first.range().last(first_key) - first.shift,
        full_queries = last_of_first_key < first.T ? last_of_first_key + 1 : first.T,
        full_begin = (keys.end - 1 - first.shift + kQueries - 1) / kQueries, full_end = full_queries / kQueries;
    if (full_begin < first_tile) full_begin = first_tile;
    if (full_begin > end_tile) full_begin = end_tile;
    for (int h = 0; h < in.a.queries_per_key_head; ++h) {
      for (int tile = first_tile; tile < end_tile;) {
        for (; tile >= full_begin && tile < full_end; ++tile) add_tile<true>(h, tile, first_tile, end_tile);
        for (int end = tile < full_begin ? full_begin : end_tile; tile < end; ++tile)
          add_tile<false>(h, tile, first_tile, end_tile);
      }
    }
  }

  // Starts to copy what a tile needs but do.
  __device__ void copy_queries(const AttentionHead& head, int first_t) {
    q.copy(head.query_row(in.a.q_BHTD, first_t), head.T - first_t, head.D, opaque(static_cast<int>(threadIdx.x)));
    rows.copy(in, head, first_t);
    bias.load(head, first_t, first_key);
    cp_async_commit_group();
  }

  // dk_j += sum_i ds_ij q_i and dv_j += sum_i a_ij do_i over the queries i of a tile. Each copy has one buffer: do
  // arrives during the scores, the next tile's q during dv. kSeesAll: every query sees every key.
  template <bool kSeesAll>
  __device__ void add_tile(int h, int tile, int first_tile, int end_tile) {
    AttentionHead head = this->head(h);
    int first_t = tile * kQueries;
    TileSpan keys{first_key + warp_key(), first_key + warp_key() + Shape::kWarpKeys};
    bool is_live = keys.begin < head.K && (kSeesAll || !head.sees_nothing(head.queries(first_t, kQueries), keys));
    AccumulatorFragment<kWarpQueries> s[kM], da[kM];
    Bf16Pair a_pairs[kM][kWarpQueries / 16][4], ds_pairs[kM][kWarpQueries / 16][4];

    cp_async_wait_group<0>();
    sync_block();  // q has arrived, and no warp reads the do, a and ds of the tile before
    grad_o.copy(head.query_row(in.do_BHTD, first_t), head.T - first_t, head.D, opaque(static_cast<int>(threadIdx.x)));
    cp_async_commit_group();
    if (is_live)
      multiply_transposed<kWarpQueries>(s, k, warp_key(), q, half() * kWarpQueries, opaque(lane_of_thread()));
    cp_async_wait_group<0>();
    sync_block();  // do has arrived
    if (is_live) {
      multiply_transposed<kWarpQueries>(da, v, warp_key(), grad_o, half() * kWarpQueries, opaque(lane_of_thread()));
      compute_weights<kSeesAll>(head, first_t + half() * kWarpQueries, s, da);
      SINK_UNROLL
      for (int mt = 0; mt < kM; ++mt) {
        round_to_operand<kWarpQueries>(s[mt], a_pairs[mt]);
        round_to_operand<kWarpQueries>(da[mt], ds_pairs[mt]);
        a.store_left(a_pairs[mt], warp_key() + 16 * mt, half() * kWarpQueries);
        ds.store_left(ds_pairs[mt], warp_key() + 16 * mt, half() * kWarpQueries);
      }
    }
    sync_block();  // a and ds are complete
    if (is_live) multiply_add(dk, ds_pairs, ds, q);
    sync_block();  // no warp reads q
    bool is_last_tile = tile + 1 == end_tile;
    if (!is_last_tile || h + 1 < in.a.queries_per_key_head)
      copy_queries(this->head(is_last_tile ? h + 1 : h), (is_last_tile ? first_tile : tile + 1) * kQueries);
    if (is_live) multiply_add(dv, a_pairs, a, grad_o);
  }

  // Turns q . k into a and do . v into ds, for the warp's queries from first_t on.
  template <bool kSeesAll>
  __device__ void compute_weights(const AttentionHead& head, int first_t, AccumulatorFragment<kWarpQueries> (&s)[kM],
                                  AccumulatorFragment<kWarpQueries> (&da)[kM]) const {
    SharedBias<kWarpQueries, kKeys> warp_bias;
    warp_bias.offset = bias.offset + half() * kWarpQueries;
    float factor = 1;
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      Scores scores(head, warp_bias, first_t, first_key, warp_key() + 16 * mt);
      factor = scores.add_bias(s[mt]);
      if constexpr (!kSeesAll) scores.mask_scores(s[mt]);
    }
    SINK_UNROLL
    for (int n = 0; n < kWarpQueries / 8; ++n) {
      int row = opaque(half() * kWarpQueries) + fragment_column(n, 0);  // of the lane's two queries
      auto m = load_vector<2>(&rows.m(row)), inverse_z = load_vector<2>(&rows.inverse_z(row)),
           dz_D = load_vector<2>(&rows.dz_D(row));
      SINK_UNROLL
      for (int mt = 0; mt < kM; ++mt) {
        SINK_UNROLL
        for (int e = 0; e < 4; ++e) {
          AttentionWeights<Op> weights(op, FastFloat(m[e % 2]), FastFloat(inverse_z[e % 2]));
          FastFloat x = fmaf(factor, s[mt][n][e], -m[e % 2]);
          bool sees = kSeesAll || !is_masked(s[mt][n][e]);
          s[mt][n][e] = sees ? weights.a_at(x) : 0;
          da[mt][n][e] = sees ? weights.ds_at(x, da[mt][n][e], dz_D[e % 2]) : 0;
        }
      }
    }
  }

  // sums += weights tile in the warp's half of the columns: own weights, then those of its neighbour.
  __device__ void multiply_add(AccumulatorFragment<kWidth / 2> (&sums)[kM],
                               const Bf16Pair (&own)[kM][kWarpQueries / 16][4], const typename Shape::Weights& weights,
                               const typename Shape::Queries& tile) const {
    int lane = opaque(lane_of_thread());
    multiply_add_half(sums, own, tile, half() * kWarpQueries, 16 * half(), lane);
    SINK_UNROLL
    for (int k = 0; k < kWarpQueries / 16; ++k) {
      Bf16Pair other[kM][1][4];
      SINK_UNROLL
      for (int mt = 0; mt < kM; ++mt)
        weights.load_left(other[mt][0], lane, warp_key() + 16 * mt, 16 * k, other_half() * kWarpQueries);
      multiply_add_half(sums, other, tile, other_half() * kWarpQueries + 16 * k, 16 * half(), lane);
    }
  }

  __device__ void store(bf16* dk_BGKD, bf16* dv_BGKD) const {
    AttentionHead head = this->head(0);
    auto column_of = [](int column) { return column / 16 * 32 + 16 * half() + column % 16; };
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      int first = first_key + warp_key() + 16 * mt;
      auto exists = [&](int e) { return first + fragment_row(e) < head.K; };
      auto row_of = [&](bf16* x) { return [=, &head](int e) { return head.key_row(x, first + fragment_row(e)); }; };
      store_rows<kWidth / 2>(
          dk[mt], in.a.D, row_of(dk_BGKD), [&](int) { return in.a.scale; }, exists, column_of);
      store_rows<kWidth / 2>(
          dv[mt], in.a.D, row_of(dv_BGKD), [&](int) { return 1.0f; }, exists, column_of);
    }
  }
};

template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_dk_dv_kernel(Op op, AttentionBackward<bf16> in, bf16* dk_BGKD, bf16* dv_BGKD) {
  // The most queries see the first keys, so their blocks start first.
  DkDvBlock<Op, kWidth> block(op, in, static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x),
                              static_cast<int>(blockIdx.z) * DkDvShape<kWidth>::kKeys);
  block.accumulate();
  block.store(dk_BGKD, dv_BGKD);
}

}  // namespace sink::cuda
