// The backward pass on the tensor cores, of keys and values: a block has 64 of them, 16 to a warp, and keeps their dk
// and dv in registers while the queries that see them, of all heads that read them, come by.
#pragma once

#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

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
                 keys = head.range().count(t + head.shift, head.K);
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
  DoubleBuffer<Queries> q, grad_o;
  DoubleBuffer<Bias> bias;
  DoubleBuffer<Rows> rows;
  WarpSums16<kWidth> dk, dv;

  __device__ KeyGradients(const Op& op, const AttentionBackward<bf16>& in, int b, int g, int first_key)
      : op(op), in(in), b(b), g(g), first_key(first_key) {
    SharedMemoryAllocator room;
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
    Span bounds = any.range().query_bounding_range(any.positions({0, any.T}), {first_key, end_key});
    int first_tile = (static_cast<int>(bounds.begin) - any.shift) / kQueries,
        end_tile = (static_cast<int>(bounds.end) - any.shift + kQueries - 1) / kQueries,
        tiles = bounds.empty() ? 0 : end_tile - first_tile;
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

}  // namespace sink::cuda
