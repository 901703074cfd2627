// The forward pass in BF16: a block has 128 queries and keeps their outputs in registers while it iterates over the
// tiles of keys and values (FlashAttention-2: Dao 2023). Where `post` is the identity, m, S and o are updated in one
// pass over the keys; else the first pass computes m and S, the second o.
#pragma once

#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

// Tile sizes: as large as registers allow without spills. With 32 queries per warp each ldmatrix of keys or values
// feeds four products. A tile at width 128, 128 queries and 32 keys, is 4 x 128 x 32 x 128 = 2.1 MFLOP; its warps read
// 4 x 48 x 512 bytes = 96 KB of shared memory, and 16 KB are copied to it.
template <class Op, int kWidth>
struct ForwardShape {
  static constexpr bool kManyRegisters = HasSeparateNormalizer<Op> || HasPost<Op>;
  static constexpr int kM = HasPost<Op> && kWidth == 128 ? 1 : 2;  // fragments of 16 queries per warp
  static constexpr int kQueries = kTileWarps * kM * 16;
  static constexpr int kKeys = kManyRegisters || kWidth > 64 ? 32 : 64;  // of a tile

  using Queries = SharedTile<kQueries, kWidth>;
  using Tiles = KeyTiles<kQueries, kKeys, kWidth>;
  using Scores = ScoreTile<false, kQueries, kKeys>;
  static constexpr std::size_t kBytes = Queries::kBytes + Tiles::kBytes;
  static_assert(kBytes <= kMaxSharedBytes);
};

// The state of a lane's rows of one fragment of queries, and their steps with a tile of keys. Arrays of 2: [e / 2].
template <class Op, int kWidth, int kKeys = ForwardShape<Op, kWidth>::kKeys>
struct ForwardRows {
  AccumulatorFragment<kWidth> o;
  FastFloat m[2], S[2];  // S sums the lane's own keys until reduce_S()
  FastFloat inverse_z[2];

  __device__ AttentionRow<Op, FastFloat> row(const Op& op, int half) const { return {op, m[half]}; }

  // The state before any key, of rows that see n keys.
  __device__ void init(const Op& op, const FastFloat (&n)[2]) {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      m[half] = first_m(op, n[half]);
      S[half] = 0.0f;
    }
    for_each_accumulator<kWidth>([&](int n, int e) { o[n][e] = 0; });
  }

  // Adds the extra key, before all others, to m and S.
  __device__ void add_extra_key(const Op& op, const float (&score)[2]) {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      m[half] = raised_m(op, m[half], FastFloat(score[half]));
      if (is_quad_leader()) S[half] = row(op, half).r(score[half] - m[half]);
    }
  }

  // o = the extra key's value times its weight.
  __device__ void init_output(const Op& op, const float (&extra_score)[2], const float* extra_v_D, std::int64_t D) {
    float weights[2] = {float(weight(op, extra_score[0], 0)), float(weight(op, extra_score[1], 1))};
    for_each_accumulator<kWidth>([&](int n, int e) {
      int d = fragment_column(n, e);
      o[n][e] = d < D ? weights[e / 2] * extra_v_D[d] : 0;
    });
  }

  __device__ FastFloat weight(const Op& op, FastFloat s, int half) const {
    FastFloat g = row(op, half).g(s - m[half]);
    if constexpr (HasPost<Op>) g = row(op, half).post(g * inverse_z[half]);
    return g;
  }

  // Raises m to the row maximum of the visible scores factor s, and rescales S. Where o must be rescaled, too, calls
  // rescale(factors). All lanes.
  template <class Rescale>
  __device__ void raise_m(const Op& op, const AccumulatorFragment<kKeys>& s, float factor, Rescale rescale) {
    float largest[2] = {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::lowest()};
    for_each_accumulator<kKeys>([&](int n, int e) { largest[e / 2] = fmaxf(largest[e / 2], s[n][e]); });
    FastFloat raised[2] = {raised_m(op, m[0], FastFloat(factor * quad_max(largest[0]))),
                           raised_m(op, m[1], FastFloat(factor * quad_max(largest[1])))};
    bool is_raised = raised[0] > m[0] || raised[1] > m[1];
    if (!any_lane(is_raised)) return;  // all factors are 1
    float factors[2];
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      FastFloat by = m[half] - raised[half];
      m[half] = raised[half];
      S[half] *= row(op, half).r_factor(by);
      factors[half] = float(row(op, half).g_factor(by));
    }
    if constexpr (!HasPost<Op>) rescale(factors);
  }
  __device__ void rescale_output(const float (&factors)[2]) {
    for_each_accumulator<kWidth>([&](int n, int e) { o[n][e] *= factors[e / 2]; });
  }

  // kSum: adds the keys of a tile with scores factor s to S. kWeigh: replaces s by the weights of the values in o.
  template <bool kSeesAll, bool kSum, bool kWeigh>
  __device__ void compute_weights(const Op& op, AccumulatorFragment<kKeys>& s, float factor) {
    AttentionRow<Op, FastFloat> rows[2] = {row(op, 0), row(op, 1)};
    float shifts[2] = {float(m[0]), float(m[1])};
    if constexpr (IsExponential<Op>) {
      factor *= kLog2E;  // e^x is 2^(x log2(e)), one product less
      shifts[0] *= kLog2E;
      shifts[1] *= kLog2E;
    }
    for_each_accumulator<kKeys>([&](int n, int e) {
      bool sees = kSeesAll || !is_masked(s[n][e]);
      FastFloat x = fmaf(factor, s[n][e], -shifts[e / 2]), g;
      if constexpr (IsExponential<Op>)
        g = exp2_approx(x.value);
      else
        g = rows[e / 2].g(x);
      if constexpr (kSum) {
        FastFloat r = g;
        if constexpr (HasSeparateNormalizer<Op>) r = rows[e / 2].r(x);
        S[e / 2] += sees ? r : FastFloat(0.0f);
      }
      if constexpr (HasPost<Op>) g = rows[e / 2].post(g * inverse_z[e / 2]);
      if constexpr (kWeigh) s[n][e] = sees ? float(g) : 0.0f;
    });
  }

  // S over all lanes, and 1 / z.
  __device__ void reduce_S(const Op& op, const FastFloat (&keys)[2]) {
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
  typename Shape::Tiles tiles;
  typename Shape::Queries q;
  ForwardRows<Op, kWidth> rows[kM];

  __device__ ForwardBlock(const Op& op, const AttentionArguments<bf16>& a, int b, int h, int first_t)
      : op(op), head(a, b, h), first_t(first_t), tiles(head, head.queries(first_t, Shape::kQueries)) {
    allocate_shared(q, tiles.k, tiles.v, tiles.bias);
  }

  __device__ static int warp_row() { return cuda::warp_row() * kM; }
  // The query in a lane's row e of fragment mt, and the same for rows after the last query.
  __device__ int t_of(int mt, int e) const { return opaque(first_t) + opaque(warp_row()) + 16 * mt + fragment_row(e); }
  __device__ int clamped_t(int mt, int e) const { return t_of(mt, e) < head.T ? t_of(mt, e) : head.T - 1; }

  __device__ void count_keys(int mt, FastFloat (&keys)[2]) const {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half)
      keys[half] = static_cast<float>(head.range().count(clamped_t(mt, 2 * half) + head.shift, head.K));
  }
  __device__ void extra_scores(int mt, float (&scores)[2]) const {
    const AttentionArguments<bf16>& a = head.a;
    SINK_UNROLL
    for (int half = 0; half < 2; ++half)
      scores[half] = a.extra_logit_H ? a.extra_logit_H[head.h] : extra_key_dot(head, clamped_t(mt, 2 * half));
  }

  // Starts to copy q, and sets m and S to those of the extra key alone.
  __device__ void load_rows() {
    q.copy(head.query_row(head.a.q_BHTD, first_t), head.T - first_t, head.a.D);
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      FastFloat keys[2];
      count_keys(mt, keys);
      rows[mt].init(op, keys);
      if (head.a.has_extra_key()) {
        float extra[2];
        extra_scores(mt, extra);
        rows[mt].add_extra_key(op, extra);
      }
    }
  }

  __device__ void init_output() {
    if (!head.a.extra_v_HD) return;
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      float extra[2];
      extra_scores(mt, extra);
      rows[mt].init_output(op, extra, head.a.extra_v_HD + head.h * head.a.D, head.a.D);
    }
  }

  __device__ void reduce_S() {
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      FastFloat keys[2];
      count_keys(mt, keys);
      rows[mt].reduce_S(op, keys);
    }
  }

  // One pass over the keys. kSum: updates m and S. kWeigh: o += a v.
  template <bool kSum, bool kWeigh>
  __device__ void pass() {
    tiles.template for_each<kWeigh>(head, first_t, [&](auto sees_all, int n, int stage) {
      add_tile<sees_all(), kSum, kWeigh>(tiles.keys(n), stage);
    });
  }

  // One tile of keys and values. kSeesAll: every query sees every key.
  template <bool kSeesAll, bool kSum, bool kWeigh>
  __device__ void add_tile(TileSpan keys, int stage) {
    TileSpan queries = head.queries(first_t + warp_row(), kM * 16);
    if (kSeesAll ? queries.begin >= queries.end : head.sees_nothing(queries, keys)) return;
    AccumulatorFragment<kKeys> s[kM];
    multiply_transposed<kKeys>(s, q, warp_row(), tiles.k[stage]);
    OperandFragment<kKeys> weights[kM];
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      typename Shape::Scores scores(head, tiles.bias[stage], first_t, keys.begin, warp_row() + 16 * mt);
      float factor = scores.add_bias(s[mt]);
      if constexpr (!kSeesAll) scores.mask_scores(s[mt]);
      if constexpr (kSum && ShiftsByMax<Op>)
        rows[mt].raise_m(op, s[mt], factor, [&](const float(&factors)[2]) { rows[mt].rescale_output(factors); });
      rows[mt].template compute_weights<kSeesAll, kSum, kWeigh>(op, s[mt], factor);
      round_to_operand<kKeys>(s[mt], weights[mt]);
    }
    if constexpr (kWeigh) {
      AccumulatorFragment<kWidth>* o[kM];
      SINK_UNROLL
      for (int mt = 0; mt < kM; ++mt) o[mt] = &rows[mt].o;
      multiply_add(o, weights, tiles.v[stage]);
    }
  }

  __device__ void store(bf16* o_BHTD, float* m_BHT, float* S_BHT) const {
    AttentionHead head(this->head.a, opaque(static_cast<int>(blockIdx.y)), opaque(static_cast<int>(blockIdx.x)));
    SINK_UNROLL
    for (int mt = 0; mt < kM; ++mt) {
      const ForwardRows<Op, kWidth>& row = rows[mt];
      auto exists = [&](int e) { return t_of(mt, e) < head.T; };
      store_rows<kWidth>(
          row.o, head.a.D, [&](int e) { return head.query_row(o_BHTD, t_of(mt, e)); },
          [&](int e) { return HasPost<Op> ? 1.0f : float(row.inverse_z[e / 2]); }, exists);
      SINK_UNROLL
      for (int half = 0; half < 2; ++half) {
        if (!exists(2 * half) || !is_quad_leader()) continue;
        int bht = head.first_query_row + t_of(mt, 2 * half);
        m_BHT[bht] = float(row.m[half]);
        S_BHT[bht] = float(row.S[half]);
      }
    }
  }
};

template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_kernel(Op op, AttentionArguments<bf16> a, bf16* o_BHTD, float* m_BHT, float* S_BHT) {
  // The last queries see the most keys, so their blocks start first.
  int tile = static_cast<int>(gridDim.z - 1 - blockIdx.z);
  ForwardBlock<Op, kWidth> block(op, a, static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x),
                                 tile * ForwardShape<Op, kWidth>::kQueries);
  block.load_rows();
  if constexpr (HasPost<Op>) {
    block.template pass<true, false>();
    block.reduce_S();
    block.init_output();
    block.template pass<false, true>();
  } else {
    block.init_output();
    block.template pass<true, true>();
    block.reduce_S();
  }
  block.store(o_BHTD, m_BHT, S_BHT);
}

template <class Op>
void attention_in_tiles(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionConfig& config,
                        Tensor& o, Tensor& m, Tensor& S) {
  check_rows(q, k);
  auto a = attention_arguments<bf16>(q, k, v, config);
  with_tile_width(a.D, [&](auto width) {
    using Shape = ForwardShape<Op, width()>;
    Grid grid{tile_blocks(a.H, a.B, a.T, Shape::kQueries), kTileThreads, Shape::kBytes};
    launch(grid, attention_tiles_kernel<Op, width()>, op, a, o.device_data<bf16>(), m.device_data<float>(),
           S.device_data<float>());
  });
}

}  // namespace sink::cuda
