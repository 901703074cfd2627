// The gradient of the queries in BF16: a block has 128 queries, 32 per warp, and keeps their dq in registers while it
// iterates over the tiles of keys and values. It also stores D_i for the other kernels, and each query's contribution
// to the gradients of the extra key.
#pragma once

#include "engine/ops/attention/cuda/attention_tiles_dq_queries_cuda.cuh"

namespace sink::cuda {

// A tile at width 64, 128 queries and 32 keys, is 6 x 128 x 32 x 64 = 1.6 MFLOP; its warps read 4 x 40 x 512 bytes = 80
// KB of shared memory, and 8 KB are copied to it.
template <class Op, int kWidth>
struct DqShape {
  static constexpr int kM = 2;  // fragments of 16 queries per warp
  static constexpr int kQueries = kTileWarps * kM * 16;
  static constexpr int kKeys = HasSeparateNormalizer<Op> || kWidth == 128 ? 16 : 32;  // of a tile; 32 spill there

  using Queries = SharedTile<kQueries, kWidth>;
  using Tiles = KeyTiles<kQueries, kKeys, kWidth>;
  using Scores = ScoreTile<false, kQueries, kKeys>;
  using Rows = SharedRows<kQueries>;
  static constexpr std::size_t kBytes = 2 * Queries::kBytes + Tiles::kBytes + Rows::kBytes;
  static_assert(kBytes <= kMaxSharedBytes);
};

template <class Op, int kWidth>
struct DqBlock : DqQueries<Op> {
  using Shape = DqShape<Op, kWidth>;
  static constexpr int kM = Shape::kM, kKeys = Shape::kKeys;

  using DqQueries<Op>::op, DqQueries<Op>::in, DqQueries<Op>::head, DqQueries<Op>::weights_of;
  using DqQueries<Op>::extra_score, DqQueries<Op>::extra_da, DqQueries<Op>::do_dot_o;

  int first_t;
  typename Shape::Tiles tiles;
  typename Shape::Queries q, grad_o;
  AccumulatorFragment<kWidth> dq[kM];
  typename Shape::Rows rows;

  __device__ DqBlock(const Op& op, const AttentionBackward<bf16>& in, int b, int h, int first_t)
      : DqQueries<Op>{op, in, {in.a, b, h}}, first_t(first_t), tiles(head, head.queries(first_t, Shape::kQueries)) {
    allocate_shared(q, grad_o, tiles.k, tiles.v, tiles.bias, rows);
  }

  __device__ static int warp_row() { return cuda::warp_row() * kM; }
  // The query in a lane's row e of fragment mt, and the same for rows after the last query.
  __device__ int t_of(int mt, int e) const { return opaque(first_t) + opaque(warp_row()) + 16 * mt + fragment_row(e); }
  __device__ static int row_of(int mt, int e) { return warp_row() + 16 * mt + fragment_row(e); }
  __device__ bool exists(int mt, int e) const { return t_of(mt, e) < head.T; }
  __device__ int clamped_t(int mt, int e) const { return exists(mt, e) ? t_of(mt, e) : head.T - 1; }
  // Whether this lane stores the values of its row.
  __device__ bool stores_row(int mt, int e) const { return exists(mt, e) && is_quad_leader(); }

  // The same without S, from shared memory.
  __device__ AttentionWeights<Op> shared_weights(int mt, int half) const {
    int row = row_of(mt, 2 * half);
    return {op, FastFloat(rows.m(row)), FastFloat(rows.inverse_z(row))};
  }
  // Calls compute(sees_all, s, do . v, factor, stage) for every tile of keys that the warp's queries see; the scores
  // are factor s.
  template <class Compute>
  __device__ void for_each_tile(Compute compute) {
    tiles.template for_each<true>(head, first_t, [&](auto sees_all, int n, int stage) {
      TileSpan queries = head.queries(first_t + warp_row(), kM * 16), keys = tiles.keys(n);
      if (sees_all() ? queries.begin >= queries.end : head.sees_nothing(queries, keys)) return;
      AccumulatorFragment<kKeys> s[kM], da[kM];
      multiply_transposed<kKeys>(s, q, warp_row(), tiles.k[stage]);
      multiply_transposed<kKeys>(da, grad_o, warp_row(), tiles.v[stage]);
      float factor = 1;
      SINK_UNROLL
      for (int mt = 0; mt < kM; ++mt) {
        typename Shape::Scores scores(head, tiles.bias[stage], first_t, keys.begin, warp_row() + 16 * mt);
        factor = scores.add_bias(s[mt]);
        if constexpr (!sees_all()) scores.mask_scores(s[mt]);
      }
      compute(sees_all, s, da, factor, stage);
    });
  }

  // D_i = sum_j w_ij dw_ij over the keys
  __device__ void sum_D(float (&D)[kM][2]) {
    for_each_tile([&](auto sees_all, const AccumulatorFragment<kKeys>(&s)[kM],
                      const AccumulatorFragment<kKeys>(&da)[kM], float factor, int) {
      SINK_UNROLL
      for (int mt = 0; mt < kM; ++mt) {
        AttentionWeights<Op> weights[2] = {shared_weights(mt, 0), shared_weights(mt, 1)};
        for_each_accumulator<kKeys>([&](int n, int e) {
          AttentionWeights<Op> row = weights[e / 2];
          FastFloat x = fmaf(factor, s[mt][n][e], -float(row.row.m));
          float term = float(row.w_at(x) * row.dw_at(x, da[mt][n][e]));
          D[mt][e / 2] += sees_all() || !is_masked(s[mt][n][e]) ? term : 0;
        });
      }
    });
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      SINK_UNROLL
      for (int half = 0; half < 2; ++half) D[mt][half] = quad_sum(D[mt][half]);
    }
  }

  // Starts to copy q and do, and computes the rows' constants. Stores those that the other kernels load.
  __device__ void load_rows() {
    q.copy(head.query_row(head.a.q_BHTD, first_t), head.T - first_t, head.D);
    grad_o.copy(head.query_row(in.do_BHTD, first_t), head.T - first_t, head.D);
    float D[kM][2] = {};
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      SINK_UNROLL
      for (int half = 0; half < 2; ++half) {
        int t = clamped_t(mt, 2 * half);
        AttentionWeights<Op> row = weights_of(t);
        if (is_quad_leader()) {
          rows.m(row_of(mt, 2 * half)) = float(row.row.m);
          rows.inverse_z(row_of(mt, 2 * half)) = float(row.inverse_z);
        }
        if constexpr (DividesBySum<Op> && !HasPost<Op>) D[mt][half] = do_dot_o(t);
      }
    }
    if constexpr (DividesBySum<Op> && HasPost<Op>) sum_D(D);
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      SINK_UNROLL
      for (int half = 0; half < 2; ++half) {
        int t = clamped_t(mt, 2 * half);
        AttentionWeights<Op> row = weights_of(t);
        if (DividesBySum<Op> && HasPost<Op> && head.a.has_extra_key()) {
          float s = extra_score(t);
          D[mt][half] += float(row.w(s) * row.dw(s, extra_da(t)));
        }
        float dz_D = row.dz_D(D[mt][half]);
        if (is_quad_leader()) rows.dz_D(row_of(mt, 2 * half)) = dz_D;
        if (!stores_row(mt, 2 * half)) continue;
        in.inverse_z_BHT[head.first_query_row + t] = float(row.inverse_z);
        in.dz_D_BHT[head.first_query_row + t] = dz_D;
      }
    }
  }

  // dq_i = ds_i* k*, the extra key's term, or 0. Stores ds_i* and a_i*.
  __device__ void init_dq(float* extra_ds_BHT, float* extra_a_BHT) {
    const AttentionArguments<bf16>& a = head.a;
    sync_warp();  // each warp has its own rows
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      float ds[2] = {0, 0};
      if (a.has_extra_key()) {
        SINK_UNROLL
        for (int half = 0; half < 2; ++half) {
          int t = clamped_t(mt, 2 * half);
          AttentionWeights<Op> row = weights_of(t);
          float s = extra_score(t);
          ds[half] = row.ds(s, extra_da(t), rows.dz_D(row_of(mt, 2 * half)));
          if (!stores_row(mt, 2 * half)) continue;
          extra_ds_BHT[head.first_query_row + t] = ds[half];
          extra_a_BHT[head.first_query_row + t] = row.a(s);
        }
      }
      for_each_accumulator<kWidth>([&](int n, int e) {
        int d = fragment_column(n, e);
        dq[mt][n][e] = a.extra_k_HD && d < a.D ? ds[e / 2] * a.extra_k_HD[head.h * a.D + d] : 0;
      });
    }
  }

  // dq_i += sum_j ds_ij k_j
  __device__ void accumulate_dq() {
    for_each_tile([&](auto sees_all, AccumulatorFragment<kKeys>(&s)[kM], AccumulatorFragment<kKeys>(&da)[kM],
                      float factor, int stage) {
      OperandFragment<kKeys> ds[kM];
      AccumulatorFragment<kWidth>* sums[kM];
      SINK_UNROLL
      for (int mt = 0; mt < kM; ++mt) {
        AttentionWeights<Op> weights[2] = {shared_weights(mt, 0), shared_weights(mt, 1)};
        float dz_D[2] = {rows.dz_D(row_of(mt, 0)), rows.dz_D(row_of(mt, 2))};
        for_each_accumulator<kKeys>([&](int n, int e) {
          FastFloat x = fmaf(factor, s[mt][n][e], -float(weights[e / 2].row.m));
          float gradient = weights[e / 2].ds_at(x, da[mt][n][e], dz_D[e / 2]);
          da[mt][n][e] = sees_all() || !is_masked(s[mt][n][e]) ? gradient : 0;
        });
        round_to_operand<kKeys>(da[mt], ds[mt]);
        sums[mt] = &dq[mt];
      }
      multiply_add(sums, ds, tiles.k[stage]);
    });
  }

  __device__ void store(bf16* dq_BHTD) const {
    AttentionHead head(in.a, opaque(static_cast<int>(blockIdx.y)), opaque(static_cast<int>(blockIdx.x)));
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt)
      store_rows<kWidth>(
          dq[mt], head.D, [&](int e) { return head.query_row(dq_BHTD, t_of(mt, e)); }, [&](int) { return in.a.scale; },
          [&](int e) { return exists(mt, e); });
  }
};

template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_dq_kernel(Op op, AttentionBackward<bf16> in, bf16* dq_BHTD, float* extra_ds_BHT,
                              float* extra_a_BHT) {
  // The last queries see the most keys, so their blocks start first.
  DqBlock<Op, kWidth> block(op, in, static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x),
                            static_cast<int>(gridDim.z - 1 - blockIdx.z) * DqShape<Op, kWidth>::kQueries);
  block.load_rows();
  block.init_dq(extra_ds_BHT, extra_a_BHT);
  block.accumulate_dq();
  block.store(dq_BHTD);
}

}  // namespace sink::cuda
