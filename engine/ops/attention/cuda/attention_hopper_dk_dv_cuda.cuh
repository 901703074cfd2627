// The gradients of keys and values on Hopper: a block has 128 keys and keeps their dk and dv in registers. For each
// tile of 64 queries, in all heads of the group:
//
//     s = k q^T, da = v do^T         wgmma, operands in shared memory; keys are rows, queries columns
//     dv += a do, dk += ds q         wgmma, a and ds in registers
#pragma once

#include "engine/cuda/vectors.cuh"
#include "engine/ops/attention/cuda/attention_hopper_ring_cuda.cuh"

namespace sink::cuda {

template <class Op, int kWidth>
struct HopperDkDv {
  static constexpr int kKeys = 128, kQueries = 64;
  using Tile = HopperTile<kWidth>;
  using Bias = SharedBias<kQueries, kKeys>;
  using Rows = SharedRows<kQueries>;
  using Scores = ScoreTile<true, kQueries, kKeys>;
  using Fragment = AccumulatorFragment<kQueries>;
  using Ring = HopperRing<kWidth, 3 * kQueries + kQueries + kKeys>;

  // Where registers allow: the scores of the next tile are computed during the weights of this one, and dv during ds.
  static constexpr bool kAhead = kWidth == 64, kOverlaps = kWidth < 128 || IsExponential<Op>;

  const Op& op;
  const AttentionBackward<bf16>& in;
  int b, g, first_key, consumer;  // the block's first key
  TileSpan queries;               // that see a key of the block, from the first of a tile on
  Ring ring;
  AccumulatorFragment<kWidth> dk, dv;

  __device__ HopperDkDv(const Op& op, const AttentionBackward<bf16>& in, const BlockPlace& place, int consumer)
      : op(op), in(in), b(place.b), g(place.h), first_key(place.tile * kKeys), consumer(consumer) {
    AttentionHead first = head(0);
    TileSpan bounds = first.range().query_bounding_range(first.positions({0, first.T}), {first_key, first_key + kKeys});
    queries = {(bounds.begin - first.shift) / kQueries * kQueries, bounds.end - first.shift};
  }

  // The n-th query head of the group.
  __device__ AttentionHead head(int n) const { return {in.a, b, g * in.a.queries_per_key_head + n, g}; }

  // The tiles of queries, in all heads of the group.
  struct Tiles {
    int n, h, first_t;  // the tile's number, head and first query

    __device__ void advance(TileSpan queries) {
      ++n;
      first_t += kQueries;
      if (first_t < queries.end) return;
      first_t = queries.begin;
      ++h;
    }
  };
  __device__ Tiles first_tile() const { return {0, 0, queries.begin}; }
  __device__ int tile_count() const {
    return queries.empty() ? 0 : (queries.end - queries.begin + kQueries - 1) / kQueries * in.a.queries_per_key_head;
  }

  // The constants of a stage's queries, and its biases.
  __device__ Rows rows(int n) const {
    Rows of_stage;
    of_stage.offset = ring.floats(n);
    return of_stage;
  }
  __device__ Bias bias(int n) const {
    Bias of_stage;
    of_stage.offset = ring.floats(n) + 3 * kQueries;
    return of_stage;
  }

  // ---- The producer ----

  __device__ void load_tiles(const BlockPlace& place, const TensorMap (&query_maps)[2],
                             const TensorMap (&key_maps)[2]) const {
    if (tile_count() == 0) return;
    ring.load_own_tiles(key_maps, first_key, place.head_of_all);
    Tiles tile = first_tile();
    for (int count = tile_count(); tile.n < count; tile.advance(queries)) {
      AttentionHead head = this->head(tile.h);
      ring.load_stage(tile.n, query_maps, tile.first_t, b * static_cast<int>(in.a.H) + head.h, [&] {
        load_rows(rows(tile.n), head, tile.first_t);
        bias(tile.n).load(head, tile.first_t, first_key, lane_of_thread(), kWarp);
      });
    }
  }

  // The rows' constants; m is the shift of TileWeights.
  __device__ void load_rows(const Rows& rows, const AttentionHead& head, int first_t) const {
    SINK_UNROLL
    for (int row = lane_of_thread(); row < kQueries; row += kWarp) {
      bool exists = first_t + row < head.T;
      int bht = head.first_query_row + first_t + row;
      float m = exists ? in.m_BHT[bht] : 0, inverse_z = exists ? in.inverse_z_BHT[bht] : 1;
      rows.m(row) = TileWeights<Op>::shift_of(m, inverse_z);
      rows.inverse_z(row) = inverse_z;
      rows.dz_D(row) = exists ? in.dz_D_BHT[bht] : 0;
    }
  }

  // ---- The consumers ----

  // The first of the warp's 16 keys in the block.
  __device__ int warp_row() const {
    return consumer * Tile::kRows + static_cast<int>(threadIdx.x) % kWarpgroup / kWarp * 16;
  }

  // Starts x = own rows^T, where the rows are those of the tile n: s of q, or da of do.
  __device__ __forceinline__ void start_dots(Fragment& x, int n, int which) const {
    keep_in_order(x);
    wgmma_fence();
    multiply_rows(x, ring.own_tile(consumer, which), ring.tile(n, which));
    wgmma_commit_group();
  }
  __device__ __forceinline__ void start_sum(AccumulatorFragment<kWidth>& sums, const OperandFragment<kQueries>& weights,
                                            int n, int which) const {
    keep_in_order(sums);
    wgmma_fence();
    multiply_columns(sums, weights, ring.tile(n, which));
    wgmma_commit_group();
  }

  // The queries that exist and see all keys of the warpgroup.
  __device__ TileSpan queries_that_see_all() const {
    AttentionHead first = head(0);
    TileSpan keys{first_key + consumer * Tile::kRows, first_key + (consumer + 1) * Tile::kRows};
    if (keys.end <= first.range().prefix) return {0, first.T};
    int last = first.range().last(keys.begin) - first.shift;
    return {keys.end - 1 - first.shift, last < first.T ? last + 1 : first.T};
  }

  __device__ __forceinline__ void accumulate() {
    for_each_accumulator<kWidth>([&](int n, int e) { dk[n][e] = dv[n][e] = 0; });
    Tiles tile = first_tile();
    TileSpan full = queries_that_see_all();
    int count = tile_count();
    if (count == 0) return;
    mbarrier_wait(ring.own_full(), 0);
    Fragment even;
    if constexpr (kAhead) {
      Fragment odd;
      ring.wait_for_stage(0);
      start_dots(even, 0, 0);
      wgmma_wait_group<0>();
      keep_in_order(even);
      for (; tile.n + 2 < count;) {
        add_tile<true>(tile, full, even, odd);
        add_tile<true>(tile, full, odd, even);
      }
      if (tile.n + 1 < count) {
        add_tile<true>(tile, full, even, odd);
        add_tile<false>(tile, full, odd, even);
      } else {
        add_tile<false>(tile, full, even, odd);
      }
    } else {
      while (tile.n < count) add_tile<false>(tile, full, even, even);
    }
  }

  // Of the queries in a lane's columns.
  using Shifts = Vector<float, 2>[kQueries / 8];
  __device__ void load_shifts(int n, Shifts& shifts) const {
    Rows rows = this->rows(n);
    SINK_UNROLL
    for (int m = 0; m < kQueries / 8; ++m) shifts[m] = load_vector<2>(&rows.m(fragment_column(m, 0)));
  }

  // dk_j += sum_i ds_ij q_i and dv_j += sum_i a_ij do_i over the queries i of a tile. kAhead: s is known, and the
  // scores of the next tile are computed.
  template <bool kHasNext>
  __device__ __forceinline__ void add_tile(Tiles& tile, TileSpan full, Fragment& s, Fragment& next) {
    int n = tile.n;
    Fragment da;
    Shifts shifts;
    if constexpr (kAhead) {
      load_shifts(n, shifts);
    } else {
      ring.wait_for_stage(n);
      start_dots(s, n, 0);
    }
    start_dots(da, n, 1);
    if constexpr (kHasNext) {
      ring.wait_for_stage(n + 1);
      start_dots(next, n + 1, 0);
    }
    if constexpr (!kAhead) {
      load_shifts(n, shifts);
      wgmma_wait_group<1>();
      keep_in_order(s);
    }
    Bias bias = this->bias(n);
    float factor = add_bias(in.a, s, [&](int m, int e) {
      return bias.at(fragment_column(m, e) - warp_row() - fragment_row(e) + kKeys - 1);
    });
    if (tile.first_t >= full.begin && tile.first_t + kQueries <= full.end) {
      add_scores<true, kHasNext>(n, factor, shifts, s, da);
    } else {
      Scores(head(tile.h), bias, tile.first_t, first_key, warp_row()).mask_scores(s);
      add_scores<false, kHasNext>(n, factor, shifts, s, da);
    }
    if constexpr (kHasNext) keep_in_order(next);
    ring.release_stage(n);
    tile.advance(queries);
  }

  // The scores are factor s; da is in flight.
  template <bool kSeesAll, bool kHasNext>
  __device__ __forceinline__ void add_scores(int n, float factor, const Shifts& shifts, Fragment& s, Fragment& da) {
    Rows rows = this->rows(n);
    Fragment weights;
    OperandFragment<kQueries> a, ds;
    factor *= TileWeights<Op>::kScale;
    if constexpr (kOverlaps) {
      SINK_UNROLL
      for (int m = 0; m < kQueries / 8; ++m) compute_a<kSeesAll>(rows, factor, shifts[m], m, s[m], weights[m]);
      round_to_operand<kQueries>(weights, a);
      Vector<float, 2> dz_D[kQueries / 8];
      SINK_UNROLL
      for (int m = 0; m < kQueries / 8; ++m) dz_D[m] = load_vector<2>(&rows.dz_D(fragment_column(m, 0)));
      wgmma_wait_group<kHasNext ? 1 : 0>();
      keep_in_order(da);
      start_sum(dv, a, n, 1);
      SINK_UNROLL
      for (int m = 0; m < kQueries / 8; ++m) compute_ds<kSeesAll>(rows, m, s[m], da[m], dz_D[m]);
    } else {
      wgmma_wait_group<0>();
      keep_in_order(da);
      SINK_UNROLL
      for (int m = 0; m < kQueries / 8; ++m) {
        compute_a<kSeesAll>(rows, factor, shifts[m], m, s[m], weights[m]);
        compute_ds<kSeesAll>(rows, m, s[m], da[m], load_vector<2>(&rows.dz_D(fragment_column(m, 0))));
      }
      round_to_operand<kQueries>(weights, a);
      start_sum(dv, a, n, 1);
    }
    round_to_operand<kQueries>(da, ds);
    start_sum(dk, ds, n, 0);
    wgmma_wait_group<0>();
    keep_in_order(dv);
    keep_in_order(dk);
  }

  // Of a lane's four elements in columns 8 m ... + 7. Elements e and e + 2 have the same query, e and e + 1 the same
  // key.
  //
  // Computes a, and turns s into x of TileWeights.
  template <bool kSeesAll>
  __device__ __forceinline__ void compute_a(const Rows& rows, float factor, const Vector<float, 2>& shift, int m,
                                            float (&s)[4], float (&weights)[4]) const {
    auto inverse_z = inverse_z_of(rows, m);
    SINK_UNROLL
    for (int e = 0; e < 4; ++e) {
      bool sees = kSeesAll || !is_masked(s[e]);
      TileWeights<Op> row(op, shift[e % 2], inverse_z[e % 2]);
      FastFloat x = row.x(factor, s[e]);
      weights[e] = sees ? row.a(x) : 0;
      if (sees) s[e] = float(x);
    }
  }
  // Turns da into ds.
  template <bool kSeesAll>
  __device__ __forceinline__ void compute_ds(const Rows& rows, int m, const float (&x)[4], float (&da)[4],
                                             const Vector<float, 2>& dz_D) const {
    int column = fragment_column(m, 0);
    auto shift = load_vector<2>(&rows.m(column)), inverse_z = inverse_z_of(rows, m);
    SINK_UNROLL
    for (int e = 0; e < 4; ++e) {
      float ds = TileWeights<Op>(op, shift[e % 2], inverse_z[e % 2]).ds(x[e], da[e], dz_D[e % 2]);
      da[e] = kSeesAll || !is_masked(x[e]) ? ds : 0;
    }
  }
  // Exponentials do not need it.
  __device__ static Vector<float, 2> inverse_z_of(const Rows& rows, int m) {
    if constexpr (IsExponential<Op>) return {};
    return load_vector<2>(&rows.inverse_z(fragment_column(m, 0)));
  }

  __device__ void store(bf16* dk_BGKD, bf16* dv_BGKD) const {
    AttentionHead head = this->head(0);
    auto row = [&](bf16* x_BGKD, int e) {
      int key = first_key + warp_row() + fragment_row(e);
      return key < head.K ? head.key_row(x_BGKD, key) : nullptr;
    };
    store_lane_rows<kWidth>(dk, head.D, {row(dk_BGKD, 0), row(dk_BGKD, 2)}, {in.a.scale, in.a.scale});
    store_lane_rows<kWidth>(dv, head.D, {row(dv_BGKD, 0), row(dv_BGKD, 2)}, {1, 1});
  }
};

template <class Op, int kWidth>
__global__ void __launch_bounds__((1 + kConsumers) * kWarpgroup, 1)
    attention_hopper_dk_dv_kernel(Op op, AttentionBackward<bf16> in, SINK_GRID_CONSTANT TensorMaps queries,
                                  SINK_GRID_CONSTANT TensorMaps keys, bf16* dk_BGKD, bf16* dv_BGKD) {
  using DkDv = HopperDkDv<Op, kWidth>;
  BlockPlace place(static_cast<int>(in.a.G));  // the most queries see the first keys, whose blocks start first
  if (threadIdx.x == 0) typename DkDv::Ring().init_barriers();
  sync_block();
  if (threadIdx.x < kWarpgroup) {
    decrease_registers<24>();
    if (threadIdx.x < kWarp) DkDv(op, in, place, 0).load_tiles(place, queries.of, keys.of);
  } else {
    increase_registers<240>();
    DkDv consumer(op, in, place, warpgroup_of_thread() - 1);
    consumer.accumulate();
    consumer.store(dk_BGKD, dv_BGKD);
  }
}

}  // namespace sink::cuda
