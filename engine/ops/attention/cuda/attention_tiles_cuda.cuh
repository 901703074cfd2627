// Attention in BF16 on the tensor cores: what the forward and backward kernels share. A block of threads computes the
// scores of 128 queries, or of 64 keys, with the tiles of the other side one after another, and skips tiles that no
// query sees. Heads are padded with zeros to kWidth. Sums are float; scores never reach global memory.
#pragma once

#include <bit>

#include "engine/cuda/fast_float.cuh"
#include "engine/cuda/matrix_tiles.cuh"
#include "engine/ops/attention/cuda/attention_cuda.cuh"

namespace sink::cuda {

inline constexpr int kTileThreads = 128;  // four warps
inline constexpr int kTileWarps = kTileThreads / kWarp;
// Shared memory that every GPU since sm_80 gives to one block: 99 KB on sm_86, sm_89 and sm_120.
inline constexpr std::size_t kMaxSharedBytes = 99 << 10;
inline constexpr int kBlockRows = kTileWarps * 16;  // queries or keys of a block in the backward pass

// Whether the kernels support heads of this width; see with_tile_width.
inline bool fits_tiles(const Tensor& q_BHTD) {
  return q_BHTD.dtype() == DType::BF16 && q_BHTD.dim(3) % 8 == 0 && q_BHTD.dim(3) <= 128;
}
// Throws if the kernels cannot count the rows of q or of k in int.
inline void check_rows(const Tensor& q_BHTD, const Tensor& k_BGKD) {
  std::int64_t rows =
      std::max(q_BHTD.dim(0) * q_BHTD.dim(1) * q_BHTD.dim(2), k_BGKD.dim(0) * k_BGKD.dim(1) * k_BGKD.dim(2));
  SINK_CHECK(rows <= INT32_MAX, "attention",
             "attention in BF16 on the CUDA device: expected at most 2147483647 rows of queries or keys, got " +
                 std::to_string(rows) + "; a smaller --batch fits",
             Exit::usage);
}
// Blocks of threads: a head (x), a sequence (y) and a tile of rows (z). Those of the same tile start together. Throws
// if a GPU cannot count them.
inline dim3 tile_blocks(std::int64_t heads, std::int64_t sequences, std::int64_t rows, int rows_per_tile) {
  constexpr std::int64_t kMost = 65535;  // blocks along y and z
  SINK_CHECK(sequences <= kMost && rows <= kMost * rows_per_tile, "attention",
             "attention in BF16 on the CUDA device: expected at most " + std::to_string(kMost) +
                 " sequences of at most " + std::to_string(kMost * rows_per_tile) + " tokens at a time, got " +
                 std::to_string(sequences) + " of " + std::to_string(rows) + "; a smaller --batch or --context fits",
             Exit::usage);
  return {static_cast<unsigned>(heads), static_cast<unsigned>(sequences), blocks_for(rows, rows_per_tile)};
}

template <class F>
void with_tile_width(std::int64_t D, F f) {
  if (D <= 64) return f(std::integral_constant<int, 64>());
  if (D <= 96) return f(std::integral_constant<int, 96>());
  return f(std::integral_constant<int, 128>());
}

using TileSpan = SpanOf<int>;  // consecutive queries or keys
using TileRange = KeyRangeOf<int>;

// The first row of the scores that this thread's warp computes.
__device__ inline int warp_row() { return static_cast<int>(threadIdx.x) / kWarp * 16; }

// One sequence and head, and where its rows begin in tensors. Queries t, keys and rows are counted in int, from 0 (see
// check_rows); query t is at position t + shift.
struct AttentionHead {
  const AttentionArguments<bf16>& a;
  int h, T, K, D, shift, first_query_row, first_key_row;
  const std::int32_t* document_starts;  // of the sequence, or null

  // Head h, whose key head is g.
  __device__ AttentionHead(const AttentionArguments<bf16>& a, int b, int h, int g)
      : a(a),
        h(h),
        T(static_cast<int>(a.T)),
        K(static_cast<int>(a.K)),
        D(static_cast<int>(a.D)),
        shift(static_cast<int>(a.first_position)),
        first_query_row((b * static_cast<int>(a.H) + h) * T),
        first_key_row((b * static_cast<int>(a.G) + g) * K),
        document_starts(a.document_starts_BK ? a.document_starts_BK + b * a.range.positions : nullptr) {}
  __device__ AttentionHead(const AttentionArguments<bf16>& a, int b, int h)
      : AttentionHead(a, b, h, h / a.queries_per_key_head) {}

  __device__ TileRange range() const {
    return {.prefix = static_cast<int>(a.range.prefix),
            .window = static_cast<int>(a.range.window),
            .document_starts = document_starts,
            .lead = static_cast<int>(a.range.lead),
            .positions = static_cast<int>(a.range.positions)};
  }

  // Row t of a (B, H, T, D) tensor; row j of a (B, G, K, D) tensor.
  template <class X>
  __device__ X* query_row(X* x, int t) const {
    return x + static_cast<std::int64_t>(first_query_row + t) * D;
  }
  template <class X>
  __device__ X* key_row(X* x, int j) const {
    return x + static_cast<std::int64_t>(first_key_row + j) * D;
  }
  // `count` queries from t on, without those after the last.
  __device__ TileSpan queries(int t, int count) const { return {t, t + count < T ? t + count : T}; }
  __device__ TileSpan positions(TileSpan queries) const { return {queries.begin + shift, queries.end + shift}; }

  // Whether no query sees any of the keys.
  __device__ bool sees_nothing(TileSpan queries, TileSpan keys) const {
    return queries.begin >= queries.end || range().key_bounding_range(positions(queries), keys).empty();
  }
  // Whether all queries and keys of the two spans exist and every query sees every key.
  __device__ bool sees_all(TileSpan queries, TileSpan keys) const {
    return queries.end <= T && keys.end <= K && range().sees_all(positions(queries), keys);
  }
};

// The biases of a tile of scores: queries from first_query on, keys from first_key on. That of the query in row r and
// the key in column c is at(r - c + kKeys - 1).
template <int kQueries, int kKeys>
struct SharedBias : SharedFloats<kQueries + kKeys> {
  // By `threads` threads, of which this is number `thread`.
  __device__ void load(const AttentionHead& head, int first_query, int first_key,
                       int thread = static_cast<int>(threadIdx.x), int threads = kTileThreads) const {
    if (!head.a.bias_HT) return;
    const float* bias_T = head.a.bias_HT + head.h * head.a.bias_columns;
    int last = static_cast<int>(head.a.bias_columns) - 1, nearest = first_query + head.shift - first_key - (kKeys - 1);
    for (int n = thread; n < kQueries + kKeys - 1; n += threads) {
      int distance = nearest + n < 0 ? 0 : nearest + n;
      this->at(n) = bias_T[distance < last ? distance : last];
    }
  }
};

// m, 1 / z and z' D of kQueries queries, in arrays one after another.
template <int kQueries>
struct SharedRows : SharedFloats<3 * kQueries> {
  __device__ float& m(int row) const { return this->at(row); }
  __device__ float& inverse_z(int row) const { return this->at(kQueries + row); }
  __device__ float& dz_D(int row) const { return this->at(2 * kQueries + row); }

  // Starts to copy those of the queries from first_t on; zeros after the last.
  __device__ void copy(const AttentionBackward<bf16>& in, const AttentionHead& head, int first_t) const {
    SINK_UNROLL
    for (int n = 0; n < (3 * kQueries + kTileThreads - 1) / kTileThreads; ++n) {
      int at = opaque(static_cast<int>(threadIdx.x)) + n * kTileThreads, row = at % kQueries;
      if (at >= 3 * kQueries) return;
      const float* from = at < kQueries ? in.m_BHT : at < 2 * kQueries ? in.inverse_z_BHT : in.dz_D_BHT;
      cp_async_4(&this->at(at), from + head.first_query_row + first_t + row, first_t + row < head.T);
    }
  }
};

// The tiles of keys, values and biases that a block of queries iterates over: those that some query sees, which are
// consecutive tiles of the prefix and consecutive tiles up to the last query.
template <int kQueries, int kKeys, int kWidth>
class KeyTiles {
 public:
  using Keys = SharedTile<kKeys, kWidth>;
  using Bias = SharedBias<kQueries, kKeys>;
  static constexpr std::size_t kBytes = 4 * Keys::kBytes + 2 * Bias::kBytes;

  DoubleBuffer<Keys> k, v;
  DoubleBuffer<Bias> bias;

  __device__ KeyTiles(const AttentionHead& head, TileSpan queries) {
    TileRange range = head.range();
    prefix_end_ = (range.prefix + kKeys - 1) / kKeys;
    begin_ = range.first(queries.begin + head.shift) / kKeys;
    if (begin_ < prefix_end_) begin_ = prefix_end_;
    end_ = (queries.end + head.shift + kKeys - 1) / kKeys;
    full_begin_ = (range.first(queries.end - 1 + head.shift) + kKeys - 1) / kKeys;
    full_end_ = (queries.begin + head.shift + 1) / kKeys;
  }
  __device__ int count() const { return prefix_end_ + (end_ > begin_ ? end_ - begin_ : 0); }
  // All queries see all keys of the tiles [full_begin(), full_end()). The mask cuts the others, or those in the prefix
  // are taken for cut.
  __device__ int full_begin() const { return full_begin_ - begin_ + prefix_end_; }
  __device__ int full_end() const { return full_end_ - begin_ + prefix_end_; }
  // Of the n-th tile.
  __device__ int first_key(int n) const { return (n < prefix_end_ ? n : n - prefix_end_ + begin_) * kKeys; }
  __device__ TileSpan keys(int n) const { return {first_key(n), first_key(n) + kKeys}; }

  // Calls compute(sees_all, n, stage) for every tile n, whose keys, biases and, if kValues, values are in buffer
  // `stage`. sees_all, std::true_type or std::false_type: whether it is known that all queries see all keys.
  template <bool kValues, class Compute>
  __device__ void for_each(const AttentionHead& head, int first_t, Compute compute) {
    Pipeline pipeline(count(), [&](int n, int stage) {
      int first = first_key(n), exist = head.K - first;
      k[stage].copy(head.key_row(head.a.k_BGKD, first), exist, head.D);
      if (kValues) v[stage].copy(head.key_row(head.a.v_BGKD, first), exist, head.D);
      bias[stage].load(head, first_t, first);
    });
    int n = 0;
    for (int edge = 0; edge < 2; ++edge) {
      for (int end = edge ? count() : full_begin(); n < end; ++n) compute(std::false_type(), n, pipeline.advance(n));
      for (; n < full_end(); ++n) compute(std::true_type(), n, pipeline.advance(n));
    }
    sync_block();  // before another pass fills the buffers
  }

 private:
  int prefix_end_, begin_, end_, full_begin_, full_end_;
};

// The score of a key that the query does not see: a NaN that no arithmetic returns. fmaxf ignores it.
inline constexpr std::uint32_t kMaskedBits = 0xffc5ee0f;
__device__ inline bool is_masked(float score) { return std::bit_cast<std::uint32_t>(score) == kMaskedBits; }

// The scores and the mask of 16 rows of a tile from row `row` on: rows are queries, or keys where kTransposed. In each
// of a lane's two rows the visible columns are at most two ranges.
template <bool kTransposed, int kQueries, int kKeys>
struct ScoreTile {
  SharedBias<kQueries, kKeys> bias;
  float scale;
  bool has_bias;
  int row;
  int begin[2], end[2];  // of a row (e / 2): columns [begin, end),
  int prefix_end[2];     // and columns [0, prefix_end)

  // has_mask: false leaves the mask unset, where every query sees every key.
  __device__ ScoreTile(const AttentionHead& head, const SharedBias<kQueries, kKeys>& bias, int first_query,
                       int first_key, int row, bool has_mask = true)
      : bias(bias), scale(head.a.scale), has_bias(head.a.bias_HT != nullptr), row(row) {
    if (!has_mask) return;
    TileRange range = head.range();
    int position = first_query + head.shift, queries = head.T - first_query;
    SINK_UNROLL
    for (int r = 0; r < 2; ++r) {
      int at = opaque(row + fragment_row(2 * r));
      prefix_end[r] = -1;
      if constexpr (kTransposed) {
        int last = range.last(first_key + at);
        bool in_prefix = first_key + at < range.prefix;
        begin[r] = in_prefix ? 0 : first_key + at - position;
        end[r] = in_prefix || last - position >= queries ? queries : last - position + 1;
      } else {
        bool exists = at < queries;
        begin[r] = exists ? range.first(position + at) - first_key : 0;
        end[r] = exists ? position + at + 1 - first_key : -1;
        if (exists) prefix_end[r] = range.prefix - first_key;
      }
    }
  }

  __device__ int query(int n, int e) const { return kTransposed ? fragment_column(n, e) : row + fragment_row(e); }
  __device__ int key(int n, int e) const { return kTransposed ? row + fragment_row(e) : fragment_column(n, e); }
  // s_ij from dot = q_i . k_j.
  __device__ float score(float dot, int n, int e) const {
    float s = scale * dot;
    return has_bias ? s + bias.at(query(n, e) - key(n, e) + kKeys - 1) : s;
  }
  // Turns x = q . k into scores but for a factor: s_ij = factor x[n][e]. Returns the factor, which is positive. Without
  // a bias it is the scale, so that s_ij - m is one FFMA.
  __device__ float add_bias(AccumulatorFragment<kTransposed ? kQueries : kKeys>& x) const {
    if (!has_bias && scale > 0) return scale;
    for_each_accumulator<kTransposed ? kQueries : kKeys>([&](int n, int e) { x[n][e] = score(x[n][e], n, e); });
    return 1;
  }
  // Replaces the scores of keys that the query does not see.
  __device__ void mask_scores(AccumulatorFragment<kTransposed ? kQueries : kKeys>& x) const {
    for_each_accumulator<kTransposed ? kQueries : kKeys>(
        [&](int n, int e) { x[n][e] = sees(n, e) ? x[n][e] : std::bit_cast<float>(kMaskedBits); });
  }
  // Whether the query exists and sees the key (KeyRange::sees in rows and columns of the tile). No query sees keys
  // after the last.
  __device__ bool sees(int n, int e) const {
    int column = fragment_column(n, e);
    return (column >= begin[e / 2] && column < end[e / 2]) || (!kTransposed && column < prefix_end[e / 2]);
  }
};

// x . y of a row of q or do, computed by the four lanes of a quad.
__device__ inline float quad_dot(const bf16* x_D, const float* y_D, std::int64_t D) {
  float sum = 0;
  for (std::int64_t d = lane_of_thread() % 4; d < D; d += 4) sum += static_cast<float>(x_D[d]) * y_D[d];
  return quad_sum(sum);
}

// scale q_t . k* of the extra key, in all lanes of the quad.
__device__ inline float extra_key_dot(const AttentionHead& head, int t) {
  const AttentionArguments<bf16>& a = head.a;
  return a.scale * quad_dot(head.query_row(a.q_BHTD, t), a.extra_k_HD + head.h * a.D, a.D);
}

// Stores the 16 rows of a fragment for which exists(e), each times factor(e), to row_of(e). Column n of the fragment is
// element column_of(n).
template <int kWidth, class RowOf, class Factor, class Exists, class ColumnOf>
__device__ void store_rows(const AccumulatorFragment<kWidth>& sums, std::int64_t D, RowOf row_of, Factor factor,
                           Exists exists, ColumnOf column_of) {
  SINK_UNROLL
  for (int e = 0; e < 4; e += 2) {
    if (!exists(e)) continue;
    bf16* row_D = row_of(e);
    float f = factor(e);
    SINK_UNROLL
    for (int n = 0; n < kWidth / 8; ++n) {
      int d = column_of(fragment_column(n, 0));
      if (d < D) *reinterpret_cast<Bf16Pair*>(row_D + d) = pack_bf16x2(f * sums[n][e], f * sums[n][e + 1]);
    }
  }
}

template <int kWidth, class RowOf, class Factor, class Exists>
__device__ void store_rows(const AccumulatorFragment<kWidth>& sums, std::int64_t D, RowOf row_of, Factor factor,
                           Exists exists) {
  store_rows<kWidth>(sums, D, row_of, factor, exists, [](int column) { return column; });
}

}  // namespace sink::cuda
