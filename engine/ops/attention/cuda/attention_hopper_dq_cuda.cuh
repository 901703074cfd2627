// The gradient of the queries on Hopper: a block has 128 queries and keeps their dq in registers. For each tile of 64
// keys and values:
//
//     s = q k^T, da = do v^T    wgmma, operands in shared memory
//     dq += ds k                wgmma, ds in registers
//
// It also stores what the other kernels load, as the kernel in attention_tiles_dq_cuda.cuh does.
#pragma once

#include "engine/ops/attention/cuda/attention_hopper_mask_cuda.cuh"
#include "engine/ops/attention/cuda/attention_hopper_ring_cuda.cuh"
#include "engine/ops/attention/cuda/attention_tiles_dq_queries_cuda.cuh"

namespace sink::cuda {

template <class Op, int kWidth>
struct HopperDq : DqQueries<Op> {
  static constexpr int kQueries = 128, kKeys = 64;
  using Tile = HopperTile<kWidth>;
  using Tiles = KeyTiles<kQueries, kKeys, kWidth>;
  using Bias = SharedBias<kQueries, kKeys>;
  using Fragment = AccumulatorFragment<kKeys>;
  using Ring = HopperRing<kWidth, kQueries + kKeys>;
  using DqQueries<Op>::in, DqQueries<Op>::head;

  static constexpr bool kHasPassForD = DividesBySum<Op> && HasPost<Op>;

  // The dots of the next tile are computed during the ds of this one, where registers allow.
  static constexpr bool kAhead = kWidth < 128;

  // q . k and do . v of a tile
  struct Dots {
    Fragment s, da;
  };

  int first_t, consumer;  // the block's first query
  Tiles tiles;
  Ring ring;
  QueryMask mask;
  float shift[2], inverse_z[2], dz_D[2];  // of a lane's queries: [e / 2]
  AccumulatorFragment<kWidth> dq;

  __device__ HopperDq(const Op& op, const AttentionBackward<bf16>& in, const BlockPlace& place, int consumer)
      : DqQueries<Op>{op, in, {in.a, place.b, place.h}},
        first_t(place.last_tile() * kQueries),
        consumer(consumer),
        tiles(head, head.queries(first_t, kQueries)) {}

  __device__ Bias bias(int n) const {
    Bias of_stage;
    of_stage.offset = ring.floats(n);
    return of_stage;
  }

  // ---- The producer ----

  __device__ void load_tiles(const BlockPlace& place, const TensorMap (&queries)[2], const TensorMap (&keys)[2]) const {
    ring.load_own_tiles(queries, first_t, place.head_of_all);
    int key_head = place.b * static_cast<int>(in.a.G) + head.h / in.a.queries_per_key_head, count = tiles.count();
    for (int n = 0; n < (kHasPassForD ? 2 * count : count); ++n) {
      int first_key = tiles.first_key(n < count ? n : n - count);
      ring.load_stage(n, keys, first_key, key_head,
                      [&] { bias(n).load(head, first_t, first_key, lane_of_thread(), kWarp); });
    }
  }

  // ---- The consumers ----

  // The first of the warp's 16 queries in the block, the query in a lane's row e, and the same for rows after the last.
  __device__ int warp_row() const {
    return consumer * Tile::kRows + static_cast<int>(threadIdx.x) % kWarpgroup / kWarp * 16;
  }
  __device__ int t_of(int e) const { return first_t + warp_row() + fragment_row(e); }
  __device__ int clamped_t(int e) const { return t_of(e) < head.T ? t_of(e) : head.T - 1; }
  __device__ bool stores_row(int e) const { return t_of(e) < head.T && is_quad_leader(); }
  __device__ TileWeights<Op> weights(int half) const { return {this->op, shift[half], inverse_z[half]}; }

  // Starts s = q k^T and da = do v^T with the tile of use n.
  __device__ void start_dots(int n, Dots& dots) const {
    ring.wait_for_stage(n);
    keep_in_order(dots.s);
    keep_in_order(dots.da);
    wgmma_fence();
    multiply_rows(dots.s, ring.own_tile(consumer, 0), ring.tile(n, 0));
    multiply_rows(dots.da, ring.own_tile(consumer, 1), ring.tile(n, 1));
    wgmma_commit_group();
  }

  __device__ void wait_for_dots(int n, Dots& dots) const {
    start_dots(n, dots);
    wgmma_wait_group<0>();
    keep_in_order(dots.s);
    keep_in_order(dots.da);
  }

  // Calls compute(sees_all, s, da, factor) for the tile of keys from first_key on: scores are factor s.
  template <class Compute>
  __device__ void with_scores(int n, int first_key, Dots& dots, Compute compute) const {
    Bias bias = this->bias(n);
    float factor = add_bias(in.a, dots.s, [&](int m, int e) {
      return bias.at(warp_row() + fragment_row(e) - fragment_column(m, e) + kKeys - 1);
    });
    if (mask.sees_all(first_key, first_key + kKeys)) return compute(std::true_type(), dots.s, dots.da, factor);
    mask.template mask_scores<kKeys>(dots.s, first_key);
    compute(std::false_type(), dots.s, dots.da, factor);
  }

  // D_i = sum_j w_ij dw_ij over the keys
  __device__ void sum_D(float (&D)[2]) const {
    for (int n = 0; n < tiles.count(); ++n) {
      Dots dots;
      wait_for_dots(n, dots);
      with_scores(n, tiles.first_key(n), dots, [&](auto sees_all, Fragment& s, Fragment& da, float factor) {
        TileWeights<Op> rows[2] = {weights(0), weights(1)};
        factor *= TileWeights<Op>::kScale;
        for_each_accumulator<kKeys>([&](int m, int e) {
          FastFloat x = rows[e / 2].x(factor, s[m][e]);
          float term = float(rows[e / 2].w(x) * rows[e / 2].dw(x, da[m][e]));
          D[e / 2] += sees_all() || !is_masked(s[m][e]) ? term : 0;
        });
      });
      ring.release_stage(n);
    }
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) D[half] = quad_sum(D[half]);
  }

  // The rows' constants. Stores those that the other kernels load.
  __device__ void load_rows() {
    mask = QueryMask(head, first_t + warp_row());
    float D[2] = {};
    if constexpr (DividesBySum<Op> && !HasPost<Op>) this->template do_dot_o<kWidth>({clamped_t(0), clamped_t(2)}, D);
    AttentionWeights<Op> row[2] = {this->weights_of(clamped_t(0)), this->weights_of(clamped_t(2))};
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      inverse_z[half] = float(row[half].inverse_z);
      shift[half] = TileWeights<Op>::shift_of(float(row[half].row.m), inverse_z[half]);
    }
    mbarrier_wait(ring.own_full(), 0);
    if constexpr (kHasPassForD) sum_D(D);
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      int t = clamped_t(2 * half);
      if (kHasPassForD && head.a.has_extra_key()) {
        float s = this->extra_score(t);
        D[half] += float(row[half].w(s) * row[half].dw(s, this->extra_da(t)));
      }
      dz_D[half] = row[half].dz_D(D[half]);
      if (!stores_row(2 * half)) continue;
      in.inverse_z_BHT[head.first_query_row + t] = inverse_z[half];
      in.dz_D_BHT[head.first_query_row + t] = dz_D[half];
    }
  }

  // dq_i = ds_i* k*, the extra key's term, or 0. Stores ds_i* and a_i*.
  __device__ void init_dq(float* extra_ds_BHT, float* extra_a_BHT) {
    const AttentionArguments<bf16>& a = head.a;
    float ds[2] = {0, 0};
    if (a.has_extra_key()) {
      SINK_UNROLL
      for (int half = 0; half < 2; ++half) {
        int t = clamped_t(2 * half);
        AttentionWeights<Op> row = this->weights_of(t);
        float s = this->extra_score(t);
        ds[half] = row.ds(s, this->extra_da(t), dz_D[half]);
        if (!stores_row(2 * half)) continue;
        extra_ds_BHT[head.first_query_row + t] = ds[half];
        extra_a_BHT[head.first_query_row + t] = row.a(s);
      }
    }
    for_each_accumulator<kWidth>([&](int n, int e) {
      int d = fragment_column(n, e);
      dq[n][e] = a.extra_k_HD && d < a.D ? ds[e / 2] * a.extra_k_HD[head.h * a.D + d] : 0;
    });
  }

  // dq_i += sum_j ds_ij k_j. kAhead: two tiles are in registers, so that one can be multiplied during the ds of the
  // other.
  __device__ __forceinline__ void accumulate_dq() {
    int n = 0, count = tiles.count();
    if constexpr (kAhead) {
      Dots even, odd;  // of an even tile and of an odd one
      wait_for_dots(use(0), even);
      for (; n + 2 < count; n += 2) {
        add_tile<true>(n, even, odd);
        add_tile<true>(n + 1, odd, even);
      }
      if (n + 1 < count) {
        add_tile<true>(n, even, odd);
        add_tile<false>(n + 1, odd, even);
      } else {
        add_tile<false>(n, even, odd);
      }
    } else {
      for (; n < count; ++n) {
        Dots dots;
        wait_for_dots(use(n), dots);
        add_tile<false>(n, dots, dots);
      }
    }
  }
  // The use of a stage that has the n-th tile.
  __device__ int use(int n) const { return kHasPassForD ? tiles.count() + n : n; }

  // Adds the n-th tile, whose dots are known. kHasNext: meanwhile computes those of the next one.
  template <bool kHasNext>
  __device__ __forceinline__ void add_tile(int n, Dots& dots, Dots& next) {
    if constexpr (kHasNext) start_dots(use(n + 1), next);
    with_scores(use(n), tiles.first_key(n), dots, [&](auto sees_all, Fragment& s, Fragment& da, float factor) {
      TileWeights<Op> rows[2] = {weights(0), weights(1)};
      factor *= TileWeights<Op>::kScale;
      for_each_accumulator<kKeys>([&](int m, int e) {
        float gradient = rows[e / 2].ds(rows[e / 2].x(factor, s[m][e]), da[m][e], dz_D[e / 2]);
        da[m][e] = sees_all() || !is_masked(s[m][e]) ? gradient : 0;
      });
    });
    OperandFragment<kKeys> ds;
    round_to_operand<kKeys>(dots.da, ds);
    keep_in_order(dq);
    wgmma_fence();
    multiply_columns(dq, ds, ring.tile(use(n), 0));
    wgmma_commit_group();
    wgmma_wait_group<0>();
    keep_in_order(dq);
    if constexpr (kHasNext) {
      keep_in_order(next.s);
      keep_in_order(next.da);
    }
    ring.release_stage(use(n));
  }

  __device__ void store(bf16* dq_BHTD) const {
    auto row = [&](int e) { return t_of(e) < head.T ? head.query_row(dq_BHTD, t_of(e)) : nullptr; };
    store_lane_rows<kWidth>(dq, head.D, {row(0), row(2)}, {in.a.scale, in.a.scale});
  }
};

template <class Op, int kWidth>
__global__ void __launch_bounds__((1 + kConsumers) * kWarpgroup, 1)
    attention_hopper_dq_kernel(Op op, AttentionBackward<bf16> in, SINK_GRID_CONSTANT TensorMaps queries,
                               SINK_GRID_CONSTANT TensorMaps keys, bf16* dq_BHTD, float* extra_ds_BHT,
                               float* extra_a_BHT) {
  using Dq = HopperDq<Op, kWidth>;
  BlockPlace place(static_cast<int>(in.a.H));
  if (threadIdx.x == 0) typename Dq::Ring().init_barriers();
  sync_block();
  if (threadIdx.x < kWarpgroup) {
    decrease_registers<24>();
    if (threadIdx.x < kWarp) Dq(op, in, place, 0).load_tiles(place, queries.of, keys.of);
  } else {
    increase_registers<240>();
    Dq consumer(op, in, place, warpgroup_of_thread() - 1);
    consumer.load_rows();
    consumer.init_dq(extra_ds_BHT, extra_a_BHT);
    consumer.accumulate_dq();
    consumer.store(dq_BHTD);
  }
}

}  // namespace sink::cuda
