// The forward pass on the tensor cores: a block has 128 queries, or 64 of wide heads, and keeps their outputs in
// registers while the keys and values that they see come by in tiles (FlashAttention-2: Dao 2023). Where `post` is the
// identity they come once, m and S growing with them; else twice, first for m and S.
#pragma once

#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

// What a block has at once: as much as leaves no number of a lane without a register.
template <class Op, int kWidth>
struct ForwardShape {
  static constexpr bool kManyNumbers = HasSeparateNormalizer<Op> || HasPost<Op>;
  static constexpr int kM = kWidth > 96 ? 1 : 2;  // products of 16 queries that a warp has
  static constexpr int kQueries = kTileWarps * kM * 16;
  static constexpr int kKeys = kManyNumbers || kWidth == 96 ? 32 : 64;  // of a tile

  using Queries = SharedTile<kQueries, kWidth>;
  using Keys = SharedTile<kKeys, kWidth>;
  using Bias = SharedBias<kQueries, kKeys>;
  using Place = ScorePlace<false, kQueries, kKeys>;
};

template <class Shape>
struct ForwardMemory {
  typename Shape::Queries q;
  DoubleBuffer<typename Shape::Keys> k, v;
  DoubleBuffer<typename Shape::Bias> bias;

  __device__ ForwardMemory() {
    SharedMemoryAllocator room;
    room.place(q);
    room.place(k);
    room.place(v);
    room.place(bias);
  }
  static constexpr std::size_t bytes() {
    return decltype(q)::kBytes + decltype(k)::kBytes + decltype(v)::kBytes + decltype(bias)::kBytes;
  }
};

// Two of a lane's rows: [e / 2].
template <class Op, int kWidth>
struct ForwardRows {
  using Place = typename ForwardShape<Op, kWidth>::Place;
  static constexpr int kKeys = ForwardShape<Op, kWidth>::kKeys;

  WarpSums16<kWidth> o;
  FastFloat m[2], S[2];  // S is of the lane's own keys until add_up()
  FastFloat inverse_z[2];

  __device__ AttentionRow<Op, FastFloat> row(const Op& op, int half) const { return {op, m[half]}; }
  __device__ bool counts_once() const { return lane_of_thread() % 4 == 0; }  // of a quad, the one that counts once

  // Before any key, of rows that see `keys` of them.
  __device__ void begin(const Op& op, const FastFloat (&keys)[2]) {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      m[half] = first_m(op, keys[half]);
      S[half] = 0.0f;
    }
    for_each_sum<kWidth>([&](int n, int e) { o[n][e] = 0; });
  }

  // The extra key is the first.
  __device__ void begin_with_extra_key(const Op& op, const float (&score)[2]) {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      m[half] = raised_m(op, m[half], FastFloat(score[half]));
      if (counts_once()) S[half] = row(op, half).r(score[half] - m[half]);
    }
  }

  // o starts with the extra key's value, times its weight.
  __device__ void begin_output(const Op& op, const float (&extra_score)[2], const float* extra_v_D, std::int64_t D) {
    float weights[2] = {float(weight(op, extra_score[0], 0)), float(weight(op, extra_score[1], 1))};
    for_each_sum<kWidth>([&](int n, int e) {
      int d = column_of_sum(n, e);
      o[n][e] = d < D ? weights[e / 2] * extra_v_D[d] : 0;
    });
  }

  __device__ FastFloat weight(const Op& op, FastFloat s, int half) const {
    FastFloat g = row(op, half).g(s - m[half]);
    if constexpr (HasPost<Op>) g = row(op, half).post(g * inverse_z[half]);
    return g;
  }

  // Scores in place of dots, and the largest of those that are seen, of the lane's own.
  template <bool kSeesAll>
  __device__ void score(WarpSums16<kKeys>& s, const Place& place, float (&largest)[2]) const {
    for_each_sum<kKeys>([&](int n, int e) {
      s[n][e] = place.score(s[n][e], n, e);
      if constexpr (ShiftsByMax<Op>)
        if ((kSeesAll || place.sees(n, e)) && s[n][e] > largest[e / 2]) largest[e / 2] = s[n][e];
    });
  }

  // Makes room for scores up to `largest`. All lanes.
  __device__ void raise_m(const Op& op, const float (&largest)[2]) {
    float factors[2];
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      FastFloat raised = raised_m(op, m[half], FastFloat(quad_max(largest[half]))), by = m[half] - raised;
      m[half] = raised;
      S[half] *= row(op, half).r_factor(by);
      factors[half] = float(row(op, half).g_factor(by));
    }
    if constexpr (!HasPost<Op>) for_each_sum<kWidth>([&](int n, int e) { o[n][e] *= factors[e / 2]; });
  }

  // S grows by the keys of a tile; where kWeigh, their scores become what values are summed with.
  template <bool kSeesAll, bool kSum, bool kWeigh>
  __device__ void take(const Op& op, WarpSums16<kKeys>& s, const Place& place) {
    AttentionRow<Op, FastFloat> rows[2] = {row(op, 0), row(op, 1)};
    for_each_sum<kKeys>([&](int n, int e) {
      bool sees = kSeesAll || place.sees(n, e);
      FastFloat x = s[n][e] - m[e / 2], g = rows[e / 2].g(x);
      if constexpr (kSum) {
        FastFloat r = g;
        if constexpr (HasSeparateNormalizer<Op>) r = rows[e / 2].r(x);
        S[e / 2] += sees ? r : FastFloat(0.0f);
      }
      if constexpr (HasPost<Op>) g = rows[e / 2].post(g * inverse_z[e / 2]);
      if constexpr (kWeigh) s[n][e] = sees ? float(g) : 0.0f;
    });
  }

  // S of all keys, and z.
  __device__ void add_up(const Op& op, const FastFloat (&keys)[2]) {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      S[half] = quad_sum(float(S[half]));
      inverse_z[half] = FastFloat(1.0f) / AttentionRow<Op, FastFloat>(op, m[half], S[half], keys[half]).z();
    }
  }
};

template <class Op, int kWidth>
struct ForwardBlock {
  using Shape = ForwardShape<Op, kWidth>;
  static constexpr int kM = Shape::kM, kKeys = Shape::kKeys;

  const Op& op;
  AttentionHead head;
  int first_t;  // of the block's queries
  LiveKeyTiles<kKeys> live;
  ForwardMemory<Shape> memory;
  ForwardRows<Op, kWidth> rows[kM];

  __device__ ForwardBlock(const Op& op, const AttentionArguments<bf16>& a, int b, int h, int first_t)
      : op(op), head(a, b, h), first_t(first_t), live(head, head.queries(first_t, Shape::kQueries)) {}

  __device__ static int warp_row() { return static_cast<int>(threadIdx.x) / kWarp * kM * 16; }
  // Which query a lane's row e of product mt is; and one that exists in place of one that does not.
  __device__ int t_of(int mt, int e) const { return first_t + warp_row() + 16 * mt + row_of_sum(e); }
  __device__ int real_t_of(int mt, int e) const { return t_of(mt, e) < head.T ? t_of(mt, e) : head.T - 1; }

  __device__ void count_keys(int mt, FastFloat (&keys)[2]) const {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half)
      keys[half] = static_cast<float>(head.range().count(real_t_of(mt, 2 * half) + head.shift, head.K));
  }
  __device__ void extra_scores(int mt, float (&scores)[2]) const {
    const AttentionArguments<bf16>& a = head.a;
    SINK_UNROLL
    for (int half = 0; half < 2; ++half)
      scores[half] = a.extra_logit_H ? a.extra_logit_H[head.h]
                                     : a.scale * quad_dot(head.query_row(a.q_BHTD, real_t_of(mt, 2 * half)),
                                                          a.extra_k_HD + head.h * a.D, a.D);
  }

  __device__ void begin() {
    memory.q.copy(head.query_row(head.a.q_BHTD, first_t), head.T - first_t, head.a.D);
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      FastFloat keys[2];
      count_keys(mt, keys);
      rows[mt].begin(op, keys);
      if (head.a.has_extra_key()) {
        float extra[2];
        extra_scores(mt, extra);
        rows[mt].begin_with_extra_key(op, extra);
      }
    }
  }

  __device__ void begin_output() {
    if (!head.a.extra_v_HD) return;
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      float extra[2];
      extra_scores(mt, extra);
      rows[mt].begin_output(op, extra, head.a.extra_v_HD + head.h * head.a.D, head.a.D);
    }
  }

  __device__ void add_up() {
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      FastFloat keys[2];
      count_keys(mt, keys);
      rows[mt].add_up(op, keys);
    }
  }

  // All keys and, where kWeigh, values.
  template <bool kSum, bool kWeigh>
  __device__ void pass() {
    auto load = [&](int n, int stage) {
      int first_key = live.first_key(n), count = head.K - first_key;
      memory.k[stage].copy(head.key_row(head.a.k_BGKD, first_key), count, head.a.D);
      if (kWeigh) memory.v[stage].copy(head.key_row(head.a.v_BGKD, first_key), count, head.a.D);
      memory.bias[stage].load(head, first_t, first_key);
    };
    auto use = [&](int n, int stage) {
      TileSpan keys{live.first_key(n), live.first_key(n) + kKeys};
      if (head.sees_nothing(head.queries(first_t + warp_row(), kM * 16), keys)) return;
      WarpSums16<kKeys> s[kM];
      row_dots(s, memory.q, warp_row(), memory.k[stage]);
      WarpPairs16<kKeys> weights[kM];
      SINK_UNROLL
      for (int mt = 0; mt < kM; ++mt) {
        take<kSum, kWeigh>(mt, s[mt], keys, stage);
        to_pairs<kKeys>(s[mt], weights[mt]);
      }
      if constexpr (kWeigh) {
        WarpSums16<kWidth>* o[kM];
        SINK_UNROLL
        for (int mt = 0; mt < kM; ++mt) o[mt] = &rows[mt].o;
        add_weighted_rows(o, weights, memory.v[stage]);
      }
    };
    with_two_stages(live.count(), load, use);
  }

  template <bool kSum, bool kWeigh>
  __device__ void take(int mt, WarpSums16<kKeys>& s, TileSpan keys, int stage) {
    int row = warp_row() + 16 * mt;
    typename Shape::Place place(head, memory.bias[stage], first_t, keys.begin, row);
    bool all = head.sees_all({first_t + row, first_t + row + 16}, keys);
    float largest[2] = {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::lowest()};
    if (all) {
      rows[mt].template score<true>(s, place, largest);
    } else {
      rows[mt].template score<false>(s, place, largest);
    }
    if constexpr (kSum && ShiftsByMax<Op>) rows[mt].raise_m(op, largest);
    if (all) {
      rows[mt].template take<true, kSum, kWeigh>(op, s, place);
    } else {
      rows[mt].template take<false, kSum, kWeigh>(op, s, place);
    }
  }

  __device__ void store(bf16* o_BHTD, float* m_BHT, float* S_BHT) const {
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      const ForwardRows<Op, kWidth>& row = rows[mt];
      auto exists = [&](int e) { return t_of(mt, e) < head.T; };
      store_rows<kWidth>(
          row.o, head.a.D, [&](int e) { return head.query_row(o_BHTD, t_of(mt, e)); },
          [&](int e) { return HasPost<Op> ? 1.0f : float(row.inverse_z[e / 2]); }, exists);
      SINK_UNROLL
      for (int half = 0; half < 2; ++half) {
        if (!exists(2 * half) || !row.counts_once()) continue;
        std::int64_t bht = head.first_query_row + t_of(mt, 2 * half);
        m_BHT[bht] = float(row.m[half]);
        S_BHT[bht] = float(row.S[half]);
      }
    }
  }
};

template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_kernel(Op op, AttentionArguments<bf16> a, bf16* o_BHTD, float* m_BHT, float* S_BHT) {
  // The last queries see most: they begin first.
  int heads = static_cast<int>(a.B * a.H), bh = static_cast<int>(blockIdx.x) % heads,
      tile = static_cast<int>(gridDim.x - 1 - blockIdx.x) / heads, H = static_cast<int>(a.H);
  ForwardBlock<Op, kWidth> block(op, a, bh / H, bh % H, tile * ForwardShape<Op, kWidth>::kQueries);
  block.begin();
  if constexpr (HasPost<Op>) {
    block.template pass<true, false>();
    block.add_up();
    block.begin_output();
    block.template pass<false, true>();
  } else {
    block.begin_output();
    block.template pass<true, true>();
    block.add_up();
  }
  block.store(o_BHTD, m_BHT, S_BHT);
}

template <class Op>
void attention_in_tiles(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionConfig& config,
                        Tensor& o, Tensor& m, Tensor& S) {
  auto a = attention_arguments<bf16>(q, k, v, config);
  with_tile_width(a.D, [&](auto width) {
    using Shape = ForwardShape<Op, width()>;
    Grid grid{blocks_for(a.T, Shape::kQueries) * static_cast<unsigned>(a.B * a.H), kTileThreads,
              ForwardMemory<Shape>::bytes()};
    launch(grid, attention_tiles_kernel<Op, width()>, op, a, o.device_data<bf16>(), m.device_data<float>(),
           S.device_data<float>());
  });
}

}  // namespace sink::cuda
