// The backward pass on the tensor cores. Every gradient has one owner, so nothing is added by two: a block of 64
// queries for dq, a block of 64 keys for dk and dv, a head and a diagonal of tiles for dbias. Each computes the scores
// that it needs once more: seven products of tiles in place of the five of FlashAttention-2 (Dao 2023), whose blocks of
// keys add to dq in whatever order they come.
#pragma once

#include "engine/ops/attention/attention_gradients_cuda.cuh"
#include "engine/ops/attention/attention_tiles_cuda.cuh"

namespace sink::cuda {

inline constexpr int kOwned = kTileWarps * 16;  // rows or columns of the map that a block owns

// ---- dq, D and the extra key ----

template <class Op, int kWidth>
struct QueryGradients {
  static constexpr int kKeys = SumsApart<Op> || HasPost<Op> || kWidth > 96 ? 32 : 64;  // of a tile
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
  TwoStages<Keys> k, v;
  TwoStages<Bias> bias;
  WarpSums16<kWidth> dq;
  LaneRows<Op> rows;

  __device__ QueryGradients(const Op& op, const AttentionBackward<bf16>& in, int b, int h, int first_t)
      : op(op), in(in), head(in.a, b, h), first_t(first_t), live(head, head.queries(first_t, kOwned)) {
    SharedRoom room;
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
    return {op, in.m_BHT[bht], in.S_BHT[bht], head.a.range.count(t + head.shift, head.K)};
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

// ---- dk and dv ----

// Of the queries of a tile: m, 1 / z and z' D, [3 r] for row r.
template <int kQueries>
struct SharedRows {
  using Number = float;
  static constexpr std::size_t kBytes = sizeof(float) * 3 * kQueries;

  int first;

  __device__ float& at(int n) const { return shared_memory<float>()[first + n]; }

  template <class Op>
  __device__ void load(const Op& op, const AttentionBackward<bf16>& in, const AttentionHead& head, int first_t) const {
    int row = static_cast<int>(threadIdx.x), t = first_t + row;
    if (row >= kQueries) return;
    bool exists = t < head.T;
    std::int64_t bht = head.first_query_row + (exists ? t : head.T - 1),
                 keys = in.a.range.count(t + head.shift, head.K);
    AttentionWeights<Op> weights(op, in.m_BHT[bht], in.S_BHT[bht], keys);
    at(3 * row) = in.m_BHT[bht];
    at(3 * row + 1) = float(weights.inverse_z);
    at(3 * row + 2) = weights.through_sum(in.D_BHT[bht]);
  }
};

template <class Op, int kWidth>
struct KeyGradients {
  static constexpr int kQueries = kWidth > 64 ? 32 : 64;  // of a tile
  using Keys = SharedTile<kOwned, kWidth>;
  using Queries = SharedTile<kQueries, kWidth>;
  using Bias = SharedBias<kQueries, kOwned>;
  using Rows = SharedRows<kQueries>;
  static constexpr std::size_t kBytes = 2 * Keys::kBytes + 4 * Queries::kBytes + 2 * Bias::kBytes + 2 * Rows::kBytes;

  const Op& op;
  const AttentionBackward<bf16>& in;
  int b, g, first_key;
  Keys k, v;
  TwoStages<Queries> q, grad_o;
  TwoStages<Bias> bias;
  TwoStages<Rows> rows;
  WarpSums16<kWidth> dk, dv;

  __device__ KeyGradients(const Op& op, const AttentionBackward<bf16>& in, int b, int g, int first_key)
      : op(op), in(in), b(b), g(g), first_key(first_key) {
    SharedRoom room;
    room.place(k);
    room.place(v);
    room.place(q);
    room.place(grad_o);
    room.place(bias);
    room.place(rows);
    for_each_sum<kWidth>([&](int n, int e) { dk[n][e] = dv[n][e] = 0; });
  }

  __device__ static int warp_row() { return static_cast<int>(threadIdx.x) / kWarp * 16; }
  __device__ int heads_of_key() const { return static_cast<int>(in.a.H / in.a.G); }
  __device__ AttentionHead head(int n) const { return {in.a, b, g * heads_of_key() + n}; }

  // All queries, of all heads that read these keys, that see one of them.
  __device__ void sum_queries() {
    AttentionHead any = head(0);
    k.copy(any.key_row(in.a.k_BGKD, first_key), any.K - first_key, in.a.D);
    v.copy(any.key_row(in.a.v_BGKD, first_key), any.K - first_key, in.a.D);
    int end_key = first_key + kOwned < any.K ? first_key + kOwned : any.K;
    Span hull = in.a.range.query_hull(any.positions({0, any.T}), {first_key, end_key});
    int first_tile = (static_cast<int>(hull.begin) - any.shift) / kQueries,
        end_tile = (static_cast<int>(hull.end) - any.shift + kQueries - 1) / kQueries,
        tiles = hull.empty() ? 0 : end_tile - first_tile;
    auto load = [&](int n, int stage) {
      AttentionHead head = this->head(n / tiles);
      int first_t = (first_tile + n % tiles) * kQueries, count = head.T - first_t;
      q[stage].copy(head.query_row(in.a.q_BHTD, first_t), count, in.a.D);
      grad_o[stage].copy(head.query_row(in.do_BHTD, first_t), count, in.a.D);
      bias[stage].load(head, first_t, first_key);
      rows[stage].load(op, in, head, first_t);
    };
    with_two_stages(heads_of_key() * tiles, load,
                    [&](int n, int stage) { add(head(n / tiles), (first_tile + n % tiles) * kQueries, stage); });
  }

  // What a tile of queries gives to the warp's 16 keys.
  __device__ void add(const AttentionHead& head, int first_t, int stage) {
    int row = warp_row();
    TileSpan keys{first_key + row, first_key + row + 16}, queries = head.queries(first_t, kQueries);
    if (keys.begin >= head.K || head.sees_nothing(queries, keys)) return;
    WarpSums16<kQueries> s[1], da[1];
    row_dots(s, k, row, q[stage]);
    row_dots(da, v, row, grad_o[stage]);
    ScorePlace<true, kQueries, kOwned> place(head, bias[stage], first_t, first_key, row);
    bool all = head.sees_all({first_t, first_t + kQueries}, keys);
    Rows numbers = rows[stage];
    for_each_sum<kQueries>([&](int n, int e) {
      int query = 3 * column_of_sum(n, e);
      AttentionWeights<Op> weights(op, FastFloat(numbers.at(query)), FastFloat(numbers.at(query + 1)));
      float score = place.score(s[0][n][e], n, e);
      bool sees = all || place.sees(n, e);
      s[0][n][e] = sees ? weights.a(score) : 0;
      da[0][n][e] = sees ? weights.ds(score, da[0][n][e], numbers.at(query + 2)) : 0;
    });
    WarpPairs16<kQueries> pairs[1];
    WarpSums16<kWidth>*dv_sums[1] = {&dv}, *dk_sums[1] = {&dk};
    to_pairs<kQueries>(s[0], pairs[0]);
    add_weighted_rows(dv_sums, pairs, grad_o[stage]);
    to_pairs<kQueries>(da[0], pairs[0]);
    add_weighted_rows(dk_sums, pairs, q[stage]);
  }
};

template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_dk_dv_kernel(Op op, AttentionBackward<bf16> in, bf16* dk_BGKD, bf16* dv_BGKD) {
  // The first keys are seen most: they begin first.
  int G = static_cast<int>(in.a.G), heads = static_cast<int>(in.a.B) * G, bg = static_cast<int>(blockIdx.x) % heads;
  KeyGradients<Op, kWidth> block(op, in, bg / G, bg % G, static_cast<int>(blockIdx.x) / heads * kOwned);
  block.sum_queries();
  AttentionHead head = block.head(0);
  int first_key = block.first_key + block.warp_row();
  auto exists = [&](int e) { return first_key + row_of_sum(e) < head.K; };
  auto row_of = [&](bf16* x) { return [=, &head](int e) { return head.key_row(x, first_key + row_of_sum(e)); }; };
  store_rows<kWidth>(
      block.dk, in.a.D, row_of(dk_BGKD), [&](int) { return in.a.scale; }, exists);
  store_rows<kWidth>(
      block.dv, in.a.D, row_of(dv_BGKD), [&](int) { return 1.0f; }, exists);
}

// ---- dbias ----

// The scores' gradients of a tile, in shared memory, where they are summed along its diagonals.
struct SharedGradients {
  using Number = float;
  static constexpr int kStride = kOwned + 1;
  static constexpr std::size_t kBytes = sizeof(float) * kOwned * kStride;

  int first;

  __device__ float& at(int row, int column) const { return shared_memory<float>()[first + row * kStride + column]; }
  // Over query r and key c with r - c = n - (kOwned - 1).
  __device__ float diagonal_sum(int n) const {
    int distance = n - (kOwned - 1);
    float sum = 0;
    for (int row = distance > 0 ? distance : 0; row < kOwned && row - distance < kOwned; ++row)
      sum += at(row, row - distance);
    return sum;
  }
};
inline constexpr int kDiagonals = 2 * kOwned - 1;  // of a tile

template <class Op, int kWidth>
struct BiasGradients {
  using Tile = SharedTile<kOwned, kWidth>;
  using Bias = SharedBias<kOwned, kOwned>;
  static constexpr std::size_t kBytes = 8 * Tile::kBytes + 2 * Bias::kBytes + SharedGradients::kBytes;

  const Op& op;
  const AttentionBackward<bf16>& in;
  int h;
  TwoStages<Tile> q, grad_o, k, v;
  TwoStages<Bias> bias;
  SharedGradients gradients;
  float sum = 0;  // of the diagonal that the thread has

  __device__ BiasGradients(const Op& op, const AttentionBackward<bf16>& in, int h) : op(op), in(in), h(h) {
    SharedRoom room;
    room.place(q);
    room.place(grad_o);
    room.place(k);
    room.place(v);
    room.place(bias);
    room.place(gradients);
  }

  // All tiles whose query tile comes `apart` behind their key tile, of all sequences.
  __device__ void sum_tiles(int apart) {
    int T = static_cast<int>(in.a.T), K = static_cast<int>(in.a.K), first_key_tile = apart < 0 ? -apart : 0,
        query_tiles = (T + kOwned - 1) / kOwned, key_tiles = (K + kOwned - 1) / kOwned,
        end_key_tile = query_tiles - apart < key_tiles ? query_tiles - apart : key_tiles,
        tiles = end_key_tile > first_key_tile ? end_key_tile - first_key_tile : 0;
    auto load = [&](int n, int stage) {
      AttentionHead head(in.a, n / tiles, h);
      int first_key = (first_key_tile + n % tiles) * kOwned, first_t = first_key + apart * kOwned;
      q[stage].copy(head.query_row(in.a.q_BHTD, first_t), T - first_t, in.a.D);
      grad_o[stage].copy(head.query_row(in.do_BHTD, first_t), T - first_t, in.a.D);
      k[stage].copy(head.key_row(in.a.k_BGKD, first_key), K - first_key, in.a.D);
      v[stage].copy(head.key_row(in.a.v_BGKD, first_key), K - first_key, in.a.D);
      bias[stage].load(head, first_t, first_key);
    };
    with_two_stages(static_cast<int>(in.a.B) * tiles, load, [&](int n, int stage) {
      int first_key = (first_key_tile + n % tiles) * kOwned;
      put(AttentionHead(in.a, n / tiles, h), first_key + apart * kOwned, first_key, stage);
      sync_block();
      if (threadIdx.x < kDiagonals) sum += gradients.diagonal_sum(static_cast<int>(threadIdx.x));
    });
  }

  __device__ void put(const AttentionHead& head, int first_t, int first_key, int stage) {
    int row = static_cast<int>(threadIdx.x) / kWarp * 16;
    WarpSums16<kOwned> s[1], da[1];
    row_dots(s, q[stage], row, k[stage]);
    row_dots(da, grad_o[stage], row, v[stage]);
    ScorePlace<false, kOwned, kOwned> place(head, bias[stage], first_t, first_key, row);
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      int t = first_t + row + row_of_sum(2 * half), real = t < head.T ? t : head.T - 1;
      std::int64_t bht = head.first_query_row + real;
      AttentionWeights<Op> weights(op, in.m_BHT[bht], in.S_BHT[bht], in.a.range.count(real + head.shift, head.K));
      float through_sum = weights.through_sum(in.D_BHT[bht]);
      for_each_sum<kOwned>([&](int n, int e) {
        if (e / 2 != half) return;
        float ds = weights.ds(place.score(s[0][n][e], n, e), da[0][n][e], through_sum);
        gradients.at(row + row_of_sum(e), column_of_sum(n, e)) = place.sees(n, e) ? ds : 0;
      });
    }
  }
};

// sums_HAN: of head h, tiles that are A apart (from 1 - key tiles on) and diagonal n.
template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_dbias_kernel(Op op, AttentionBackward<bf16> in, int first_apart, float* sums_HAN) {
  BiasGradients<Op, kWidth> block(op, in, static_cast<int>(blockIdx.y));
  block.sum_tiles(first_apart + static_cast<int>(blockIdx.x));
  if (threadIdx.x < kDiagonals) sums_HAN[(blockIdx.y * gridDim.x + blockIdx.x) * kDiagonals + threadIdx.x] = block.sum;
}

// dbias_h[distance] out of those sums: all keys in a query's future are at distance 0.
void sum_diagonals(const Tensor& sums_HAN, std::int64_t first_apart, std::int64_t first_position, Tensor& dbias_HT);

template <class Op, int kWidth>
void bias_gradient_in_tiles(const Op& op, const AttentionBackward<bf16>& in, Tensor& dbias_HT) {
  auto tiles = [](std::int64_t count) { return (count + kOwned - 1) / kOwned; };
  std::int64_t first_apart = in.a.range.prefix > 0 ? 1 - tiles(in.a.K) : -tiles(in.a.first_position),
               count = tiles(in.a.T) - first_apart;
  Tensor sums = dbias_HT.new_empty({in.a.H, count, kDiagonals}, DType::F32);
  launch({dim3(static_cast<unsigned>(count), static_cast<unsigned>(in.a.H)), kTileThreads,
          BiasGradients<Op, kWidth>::kBytes},
         attention_tiles_dbias_kernel<Op, kWidth>, op, in, static_cast<int>(first_apart), sums.device_data<float>());
  sum_diagonals(sums, first_apart, in.a.first_position, dbias_HT);
}

template <class Op>
AttentionGradients attention_backward_in_tiles(const Op& op, const Tensor& grad_o, const Tensor& q, const Tensor& k,
                                               const Tensor& v, const Tensor& o, const Tensor& m, const Tensor& S,
                                               const AttentionConfig& config) {
  AttentionGradients gradients = empty_gradients(q, k, config);
  Tensor row_D = Tensor::empty_like(m), extra_ds, extra_a;
  if (config.extra_key.present()) extra_ds = Tensor::empty_like(m), extra_a = Tensor::empty_like(m);
  AttentionBackward<bf16> in{attention_arguments<bf16>(q, k, v, config),
                             grad_o.device_data<bf16>(),
                             o.device_data<bf16>(),
                             m.device_data<float>(),
                             S.device_data<float>(),
                             row_D.device_data<float>()};
  auto blocks = [](std::int64_t rows, std::int64_t heads) {
    return blocks_for(rows, kOwned) * static_cast<unsigned>(heads);
  };
  with_tile_width(in.a.D, [&](auto width) {
    constexpr int kWidth = width();
    launch({blocks(in.a.T, in.a.B * in.a.H), kTileThreads, QueryGradients<Op, kWidth>::kBytes},
           attention_tiles_dq_kernel<Op, kWidth>, op, in, gradients.dq_BHTD.device_data<bf16>(),
           extra_ds.defined() ? extra_ds.device_data<float>() : nullptr,
           extra_a.defined() ? extra_a.device_data<float>() : nullptr);
    launch({blocks(in.a.K, in.a.B * in.a.G), kTileThreads, KeyGradients<Op, kWidth>::kBytes},
           attention_tiles_dk_dv_kernel<Op, kWidth>, op, in, gradients.dk_BGKD.device_data<bf16>(),
           gradients.dv_BGKD.device_data<bf16>());
    if (gradients.dbias_HT.defined()) bias_gradient_in_tiles<Op, kWidth>(op, in, gradients.dbias_HT);
  });
  if (config.extra_key.present()) sum_extra_gradients(in, extra_ds, extra_a, gradients);
  return gradients;
}

}  // namespace sink::cuda
