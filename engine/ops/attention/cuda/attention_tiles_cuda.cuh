// Attention in BF16 on the tensor cores, forward and backward: what their kernels share. A block has 64 or 128 rows of
// the map, or 64 columns of it, and meets the tiles of the other side one by one; tiles that no query sees are left
// out. Heads are as wide as kWidth, or narrower and filled up with zeros. Sums are float, scores never leave registers.
#pragma once

#include "engine/cuda/fast_float.cuh"
#include "engine/cuda/matrix_tiles.cuh"
#include "engine/ops/attention/cuda/attention_cuda.cuh"

namespace sink::cuda {

inline constexpr int kTileThreads = 128;  // four warps
inline constexpr int kTileWarps = kTileThreads / kWarp;
inline constexpr int kOwned = kTileWarps * 16;  // queries or keys that a block of the backward pass has

// Whether there is code for heads of this width; see with_tile_width.
inline bool fits_tiles(const Tensor& q_BHTD) {
  return q_BHTD.dtype() == DType::BF16 && q_BHTD.dim(3) % 8 == 0 && q_BHTD.dim(3) <= 128;
}
template <class F>
void with_tile_width(std::int64_t D, F f) {
  if (D <= 64) return f(std::integral_constant<int, 64>());
  if (D <= 96) return f(std::integral_constant<int, 96>());
  return f(std::integral_constant<int, 128>());
}

// A run of rows or columns of the map.
struct TileSpan {
  int begin, end;
  __device__ Span wide() const { return {begin, end}; }
};

// One sequence and head of the map, and where its rows begin in tensors. Queries and keys are counted in int, from 0;
// query t stands at position t + shift.
struct AttentionHead {
  const AttentionArguments<bf16>& a;
  int h, T, K, shift;
  std::int64_t first_query_row, first_key_row;
  const std::int32_t* document_starts;  // of the sequence, or null

  __device__ AttentionHead(const AttentionArguments<bf16>& a, int b, int h)
      : a(a),
        h(h),
        T(static_cast<int>(a.T)),
        K(static_cast<int>(a.K)),
        shift(static_cast<int>(a.first_position)),
        first_query_row((b * a.H + h) * a.T),
        first_key_row((b * a.G + h / (a.H / a.G)) * a.K),
        document_starts(a.document_starts_BK ? a.document_starts_BK + b * a.range.positions : nullptr) {}

  __device__ KeyRange range() const {
    KeyRange of_sequence = a.range;
    of_sequence.document_starts = document_starts;
    return of_sequence;
  }

  // Row t of q and of what is like it; row j of k and of what is like it.
  template <class X>
  __device__ X* query_row(X* x, int t) const {
    return x + (first_query_row + t) * a.D;
  }
  template <class X>
  __device__ X* key_row(X* x, int j) const {
    return x + (first_key_row + j) * a.D;
  }
  // `count` queries from t on, those that there are.
  __device__ TileSpan queries(int t, int count) const { return {t, t + count < T ? t + count : T}; }
  __device__ Span positions(TileSpan queries) const { return {queries.begin + shift, queries.end + shift}; }

  // Whether no query sees any of the keys; whether all there could be in 16 or more rows exist and see all of them.
  __device__ bool sees_nothing(TileSpan queries, TileSpan keys) const {
    return queries.begin >= queries.end || range().key_bounding_range(positions(queries), keys.wide()).empty();
  }
  __device__ bool sees_all(TileSpan queries, TileSpan keys) const {
    return queries.end <= T && keys.end <= K && range().sees_all(positions(queries), keys.wide());
  }
};

// Which tiles of kKeys keys some query sees: a run from the prefix, and a run up to the last query.
template <int kKeys>
class LiveKeyTiles {
 public:
  __device__ LiveKeyTiles(const AttentionHead& head, TileSpan queries) {
    KeyRange range = head.range();
    int prefix = static_cast<int>(range.prefix < head.K ? range.prefix : head.K);
    prefix_end_ = (prefix + kKeys - 1) / kKeys;
    begin_ = static_cast<int>(range.first(queries.begin + head.shift)) / kKeys;
    if (begin_ < prefix_end_) begin_ = prefix_end_;
    end_ = (queries.end + head.shift + kKeys - 1) / kKeys;
  }
  __device__ int count() const { return prefix_end_ + (end_ > begin_ ? end_ - begin_ : 0); }
  // Where the n-th begins.
  __device__ int first_key(int n) const { return (n < prefix_end_ ? n : n - prefix_end_ + begin_) * kKeys; }

 private:
  int prefix_end_, begin_, end_;
};

// The biases of a tile of scores: those of kQueries queries from `first_query` and kKeys keys from `first_key`, that of
// the query in row r and the key in column c at [r - c + kKeys - 1].
template <int kQueries, int kKeys>
struct SharedBias {
  using Number = float;
  static constexpr int kCount = kQueries + kKeys - 1;
  static constexpr std::size_t kBytes = sizeof(float) * (kCount + 1);

  int first;

  __device__ float& at(int n) const { return shared_memory<float>()[first + n]; }

  __device__ void load(const AttentionHead& head, int first_query, int first_key) const {
    if (!head.a.bias_HT) return;
    const float* bias_T = head.a.bias_HT + head.h * head.a.bias_columns;
    int last = static_cast<int>(head.a.bias_columns) - 1, nearest = first_query + head.shift - first_key - (kKeys - 1);
    for (int n = static_cast<int>(threadIdx.x); n < kCount; n += kTileThreads) {
      int distance = nearest + n < 0 ? 0 : nearest + n;
      at(n) = bias_T[distance < last ? distance : last];
    }
  }
};

// Where 16 rows of scores lie in the map: rows are queries, or keys where kTransposed. `row`: the first, in its tile.
// What a lane's two rows see, or are seen by, are runs of columns.
template <bool kTransposed, int kQueries, int kKeys>
struct ScorePlace {
  SharedBias<kQueries, kKeys> bias;
  float scale;
  bool has_bias;
  int row;
  int begin[2], end[2];  // of a row (e / 2): columns [begin, end),
  int always_end[2];     // and those of the prefix up to here

  __device__ ScorePlace(const AttentionHead& head, const SharedBias<kQueries, kKeys>& bias, int first_query,
                        int first_key, int row)
      : bias(bias), scale(head.a.scale), has_bias(head.a.bias_HT != nullptr), row(row) {
    KeyRange range = head.range();
    int position = first_query + head.shift, queries = head.T - first_query,
        prefix = static_cast<int>(range.prefix < head.K ? range.prefix : head.K);
    SINK_UNROLL
    for (int r = 0; r < 2; ++r) {
      int at = row + row_of_sum(2 * r);
      always_end[r] = -1;
      if constexpr (kTransposed) {
        std::int64_t last = range.last(first_key + at);
        bool always = first_key + at < prefix;
        begin[r] = always ? 0 : first_key + at - position;
        end[r] = always || last - position >= queries ? queries : static_cast<int>(last - position) + 1;
      } else {
        bool exists = at < queries;
        begin[r] = exists ? static_cast<int>(range.first(position + at)) - first_key : 0;
        end[r] = exists ? position + at + 1 - first_key : -1;
        if (exists) always_end[r] = prefix - first_key;
      }
    }
  }

  __device__ int query(int n, int e) const { return kTransposed ? column_of_sum(n, e) : row + row_of_sum(e); }
  __device__ int key(int n, int e) const { return kTransposed ? row + row_of_sum(e) : column_of_sum(n, e); }
  // Of q . k.
  __device__ float score(float dot, int n, int e) const {
    float s = scale * dot;
    return has_bias ? s + bias.at(query(n, e) - key(n, e) + kKeys - 1) : s;
  }
  // There is such a query, and it sees the key (KeyRange::sees in numbers of the tile): none sees what lies behind K.
  __device__ bool sees(int n, int e) const {
    int column = column_of_sum(n, e);
    return (column >= begin[e / 2] && column < end[e / 2]) || (!kTransposed && column < always_end[e / 2]);
  }
};

// Rows of the map that a lane has of a product of 16 queries: [e / 2].
template <class Op>
struct LaneRows {
  FastFloat m[2], inverse_z[2];
  float through_sum[2];

  __device__ AttentionWeights<Op> operator()(const Op& op, int e) const { return {op, m[e / 2], inverse_z[e / 2]}; }
};

// x . y of a row of q or do, shared by the four lanes that have that row.
__device__ inline float quad_dot(const bf16* x_D, const float* y_D, std::int64_t D) {
  float sum = 0;
  for (std::int64_t d = lane_of_thread() % 4; d < D; d += 4) sum += static_cast<float>(x_D[d]) * y_D[d];
  return quad_sum(sum);
}

// Writes 16 rows of sums, those that `exists(e)`, each times factor(e), to where row_of(e) begins.
template <int kWidth, class RowOf, class Factor, class Exists>
__device__ void store_rows(const WarpSums16<kWidth>& sums, std::int64_t D, RowOf row_of, Factor factor, Exists exists) {
  SINK_UNROLL
  for (int e = 0; e < 4; e += 2) {
    if (!exists(e)) continue;
    bf16* row_D = row_of(e);
    float f = factor(e);
    SINK_UNROLL
    for (int n = 0; n < kWidth / 8; ++n) {
      int d = column_of_sum(n, 0);
      if (d < D) *reinterpret_cast<Bf16Pair*>(row_D + d) = pair_of(f * sums[n][e], f * sums[n][e + 1]);
    }
  }
}

}  // namespace sink::cuda
