// The backward pass on the tensor cores, of queries: a block has 64 of them, 16 to a warp, and keeps their dq in
// registers while keys and values come by. It also makes what the other kernels read: D, and what the extra key gets of
// each query.
#pragma once

#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

template <class Op, int kWidth>
struct QueryGradients {
  static constexpr int kKeys = HasSeparateNormalizer<Op> || HasPost<Op> || kWidth > 96 ? 32 : 64;  // of a tile
  using Queries = SharedTile<kOwned, kWidth>;
  using Keys = SharedTile<kKeys, kWidth>;
  using Bias = SharedBias<kOwned, kKeys>;
  using Place = ScorePlace<false, kOwned, kKeys>;
  static constexpr std::size_t kBytes = 2 * Queries::kBytes + 4 * Keys::kBytes + 2 * Bias::kBytes;

  const Op& op;
  const AttentionBackward<bf16>& in;
  AttentionHead head;
  int first_t;
  LiveKeyTiles<kKeys> live;
  Queries q, grad_o;
  DoubleBuffer<Keys> k, v;
  DoubleBuffer<Bias> bias;
  WarpSums16<kWidth> dq;
  LaneRows<Op> rows;

  __device__ QueryGradients(const Op& op, const AttentionBackward<bf16>& in, int b, int h, int first_t)
      : op(op), in(in), head(in.a, b, h), first_t(first_t), live(head, head.queries(first_t, kOwned)) {
    SharedMemoryAllocator room;
    room.place(q);
    room.place(grad_o);
    room.place(k);
    room.place(v);
    room.place(bias);
  }

  __device__ static int warp_row() { return static_cast<int>(threadIdx.x) / kWarp * 16; }
  __device__ int t_of(int e) const { return first_t + warp_row() + row_of_sum(e); }
  __device__ bool exists(int e) const { return t_of(e) < head.T; }
  __device__ int real_t_of(int e) const { return exists(e) ? t_of(e) : head.T - 1; }
  // Of the lanes that have one row, the one that writes.
  __device__ bool writes(int e) const { return exists(e) && lane_of_thread() % 4 == 0; }

  __device__ AttentionWeights<Op> weights_of(int t) const {
    std::int64_t bht = head.first_query_row + t;
    return {op, in.m_BHT[bht], in.S_BHT[bht], head.range().count(t + head.shift, head.K)};
  }
  __device__ float extra_score(int e) const {
    const AttentionArguments<bf16>& a = head.a;
    return a.extra_logit_H
               ? a.extra_logit_H[head.h]
               : a.scale * quad_dot(head.query_row(a.q_BHTD, real_t_of(e)), a.extra_k_HD + head.h * a.D, a.D);
  }
  __device__ float extra_da(int e) const {
    const AttentionArguments<bf16>& a = head.a;
    return a.extra_v_HD ? quad_dot(head.query_row(in.do_BHTD, real_t_of(e)), a.extra_v_HD + head.h * a.D, a.D) : 0;
  }
  // do . o of a row
  __device__ float row_dot(int e) const {
    const bf16 *x = head.query_row(in.do_BHTD, real_t_of(e)), *y = head.query_row(in.o_BHTD, real_t_of(e));
    float sum = 0;
    for (std::int64_t d = lane_of_thread() % 4; d < head.a.D; d += 4)
      sum += static_cast<float>(x[d]) * static_cast<float>(y[d]);
    return quad_sum(sum);
  }

  // use(s, da, place, sees all, stage) with scores and do . v of every tile of keys.
  template <class Use>
  __device__ void for_each_tile(Use use) {
    auto load = [&](int n, int stage) {
      int first_key = live.first_key(n), count = head.K - first_key;
      k[stage].copy(head.key_row(head.a.k_BGKD, first_key), count, head.a.D);
      v[stage].copy(head.key_row(head.a.v_BGKD, first_key), count, head.a.D);
      bias[stage].load(head, first_t, first_key);
    };
    with_two_stages(live.count(), load, [&](int n, int stage) {
      TileSpan keys{live.first_key(n), live.first_key(n) + kKeys};
      int row = warp_row();
      if (head.sees_nothing(head.queries(first_t + row, 16), keys)) return;
      WarpSums16<kKeys> s[1], da[1];
      row_dots(s, q, row, k[stage]);
      row_dots(da, grad_o, row, v[stage]);
      Place place(head, bias[stage], first_t, keys.begin, row);
      use(s[0], da[0], place, head.sees_all({first_t + row, first_t + row + 16}, keys), stage);
    });
  }

  // sum_j w_ij dw_ij over the keys.
  __device__ void sum_weight_gradients(float (&D)[2]) {
    for_each_tile([&](WarpSums16<kKeys>& s, WarpSums16<kKeys>& da, const Place& place, bool, int) {
      for_each_sum<kKeys>([&](int n, int e) {
        if (!place.sees(n, e)) return;
        AttentionWeights<Op> row = rows(op, e);
        float score = place.score(s[n][e], n, e);
        D[e / 2] += float(row.w(score) * row.dw(score, da[n][e]));
      });
    });
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) D[half] = quad_sum(D[half]);
  }

  // The rows' numbers, D among them, which the other kernels get from here.
  __device__ void begin() {
    q.copy(head.query_row(head.a.q_BHTD, first_t), head.T - first_t, head.a.D);
    grad_o.copy(head.query_row(in.do_BHTD, first_t), head.T - first_t, head.a.D);
    float D[2] = {0, 0};
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      AttentionWeights<Op> row = weights_of(real_t_of(2 * half));
      rows.m[half] = row.row.m;
      rows.inverse_z[half] = row.inverse_z;
      if constexpr (DividesBySum<Op> && !HasPost<Op>) D[half] = row_dot(2 * half);
    }
    if constexpr (DividesBySum<Op> && HasPost<Op>) {
      sum_weight_gradients(D);
      SINK_UNROLL
      for (int half = 0; half < 2; ++half) {
        if (!head.a.has_extra_key()) continue;
        float s = extra_score(2 * half);
        AttentionWeights<Op> row = rows(op, 2 * half);
        D[half] += float(row.w(s) * row.dw(s, extra_da(2 * half)));
      }
    }
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      rows.through_sum[half] = weights_of(real_t_of(2 * half)).through_sum(D[half]);
      if (writes(2 * half)) in.D_BHT[head.first_query_row + t_of(2 * half)] = D[half];
    }
  }

  // dq begins with what comes through the extra key.
  __device__ void begin_gradient(float* extra_ds_BHT, float* extra_a_BHT) {
    const AttentionArguments<bf16>& a = head.a;
    float ds[2] = {0, 0};
    if (a.has_extra_key()) {
      SINK_UNROLL
      for (int half = 0; half < 2; ++half) {
        AttentionWeights<Op> row = rows(op, 2 * half);
        float s = extra_score(2 * half);
        ds[half] = row.ds(s, extra_da(2 * half), rows.through_sum[half]);
        if (!writes(2 * half)) continue;
        extra_ds_BHT[head.first_query_row + t_of(2 * half)] = ds[half];
        extra_a_BHT[head.first_query_row + t_of(2 * half)] = row.a(s);
      }
    }
    for_each_sum<kWidth>([&](int n, int e) {
      int d = column_of_sum(n, e);
      dq[n][e] = a.extra_k_HD && d < a.D ? ds[e / 2] * a.extra_k_HD[head.h * a.D + d] : 0;
    });
  }

  __device__ void sum_keys() {
    for_each_tile([&](WarpSums16<kKeys>& s, WarpSums16<kKeys>& da, const Place& place, bool all, int stage) {
      for_each_sum<kKeys>([&](int n, int e) {
        float ds = rows(op, e).ds(place.score(s[n][e], n, e), da[n][e], rows.through_sum[e / 2]);
        s[n][e] = all || place.sees(n, e) ? ds : 0;
      });
      WarpPairs16<kKeys> ds[1];
      to_pairs<kKeys>(s, ds[0]);
      WarpSums16<kWidth>* sums[1] = {&dq};
      add_weighted_rows(sums, ds, k[stage]);
    });
  }
};

template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_dq_kernel(Op op, AttentionBackward<bf16> in, bf16* dq_BHTD, float* extra_ds_BHT,
                              float* extra_a_BHT) {
  // The last queries see most: they begin first.
  int H = static_cast<int>(in.a.H), heads = static_cast<int>(in.a.B) * H, bh = static_cast<int>(blockIdx.x) % heads,
      tile = static_cast<int>(gridDim.x - 1 - blockIdx.x) / heads;
  QueryGradients<Op, kWidth> block(op, in, bh / H, bh % H, tile * kOwned);
  block.begin();
  block.begin_gradient(extra_ds_BHT, extra_a_BHT);
  block.sum_keys();
  store_rows<kWidth>(
      block.dq, in.a.D, [&](int e) { return block.head.query_row(dq_BHTD, block.t_of(e)); },
      [&](int) { return in.a.scale; }, [&](int e) { return block.exists(e); });
}

}  // namespace sink::cuda
