// Fast attention on the CPU, f32 and bf16: one head a task, tile by tile, no T x T matrix. The formulas are in
// attention.h; attention_ref.h is the same in plain loops.
#pragma once

#include <limits>
#include <type_traits>

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/attention_tile.h"
#include "engine/threads.h"

namespace sink::cpu {

// One float of scratch a thread and word; the allocator keeps the block, so a training step asks the system for
// nothing.
inline Tensor thread_scratch(std::int64_t words) { return Tensor::empty({omp_get_max_threads(), round_up(words, 16)}); }
inline Scratch scratch_of_thread(Tensor& all) { return Scratch(all.data<float>() + omp_get_thread_num() * all.dim(1)); }

// S = Q K^T of a tile, unscaled: s[kTile][kTile]. q holds words along rows, k_T the transposed words of this key tile.
template <class E>
void score_tile(const Tile& tile, const PackSizes<E>& sizes, const typename Words<E>::Word* q,
                const typename Words<E>::Word* k_T, float* s) {
  for (int block = 0; block * kRowBlock < tile.queries; ++block) {
    auto [begin, end] = tile.key_runs[block];
    multiply_rows<E, Access::kByRow>(q + block * kRowBlock * sizes.row_words, sizes.row_words, k_T + begin, kTile,
                                     s + block * kRowBlock * kTile + begin, kTile, end - begin, sizes.depth, false);
  }
}

// C += W B over the keys of a tile. w[kTile][kTile] holds numbers of type E by query; b words across key rows.
template <class E>
void mix_keys(const Tile& tile, const PackSizes<E>& sizes, const E* w, const typename Words<E>::Word* b, float* c) {
  constexpr int kPerWord = Words<E>::kPerWord;
  const auto* w_words = reinterpret_cast<const typename Words<E>::Word*>(w);
  for (int block = 0; block * kRowBlock < tile.queries; ++block) {
    auto [begin, end] = tile.key_runs[block];
    multiply_rows<E, Access::kByRow>(
        w_words + (block * kRowBlock * kTile + begin) / kPerWord, kTile / kPerWord, b + begin / kPerWord * sizes.width,
        sizes.width, c + block * kRowBlock * sizes.width, sizes.width, sizes.width, (end - begin) / kPerWord, true);
  }
}

// C += W^T B over the queries of a tile. w[kTile][kTile] holds words across query rows, as b does, in each kPerWord-th
// row.
template <class E>
void mix_queries(const Tile& tile, const PackSizes<E>& sizes, const float* w, const typename Words<E>::Word* b,
                 float* c) {
  constexpr int kPerWord = Words<E>::kPerWord;
  const auto* w_words = reinterpret_cast<const typename Words<E>::Word*>(w);
  for (int block = 0; block * kRowBlock < tile.keys; ++block) {
    auto [begin, end] = tile.query_runs[block];
    multiply_rows<E, Access::kByColumn>(
        w_words + begin * kTile + block * kRowBlock, kTile * kPerWord, b + begin / kPerWord * sizes.width, sizes.width,
        c + block * kRowBlock * sizes.width, sizes.width, sizes.width, (end - begin) / kPerWord, true);
  }
}

// The numbers of a tile in bf16.
inline void round_rows(const Tile& tile, const float* x, bf16* out) {
  for (int i = 0; i < tile.queries; ++i) {
    auto [begin, end] = tile.key_runs[i / kRowBlock];
    round_row(x + i * kTile + begin, end - begin, out + i * kTile + begin);
  }
}

// What forward keeps of kTile queries while it walks along the keys.
struct QueryTile {
  float m[kTile], S[kTile];
  float* o;  // sum_j g(s_ij - m_i) v_j, rows of `width`
  std::int64_t width;
};

// The largest visible score of a row of a tile; lowest() if there is none.
template <bool kComplete>
inline float row_maximum(const float* s, Span run, VisibleKeys visible, float scale) {
  FloatVector top = FloatVector{} + std::numeric_limits<float>::lowest();
  for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
    FloatVector x;
#pragma omp simd
    for (int n = 0; n < kVectorFloats; ++n)
      x[n] = kComplete || visible(static_cast<int>(j) + n) ? s[j + n] * scale : std::numeric_limits<float>::lowest();
    top = x > top ? x : top;
  }
  return largest_of(top);
}

// One block of queries of a tile on the way forward: turns scores s into g(s - m) in place, and moves m, S and the
// unfinished o to the new row maximum.
template <class Op, bool kComplete>
void weigh_rows(const Tile& tile, int block, float scale, float* s, QueryTile& rows) {
  Span run = tile.key_runs[block];
  for (int i = block * kRowBlock; i < (block + 1) * kRowBlock; ++i) {
    float* s_i = s + i * kTile;
    VisibleKeys visible = tile.visible(i);
    if constexpr (Op::shift_by_row_max) {
      float top = row_maximum<kComplete>(s_i, run, visible, scale);
      if (top > rows.m[i]) {
        if (rows.S[i] != 0) {
          float rescale = Op::g(rows.m[i] - top);  // g(s - m) g(m - top) = g(s - top)
          rows.S[i] *= rescale;
          for (std::int64_t d = 0; d < rows.width; ++d) rows.o[i * rows.width + d] *= rescale;
        }
        rows.m[i] = top;
      }
    }
    float m = rows.m[i];
    FloatVector sum{};
    for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
#pragma omp simd
      for (int n = 0; n < kVectorFloats; ++n) {
        float gx = Op::g(s_i[j + n] * scale - m);
        s_i[j + n] = kComplete || visible(static_cast<int>(j) + n) ? gx : 0.0f;
      }
      sum += load_numbers(s_i + j);
    }
    rows.S[i] += sum_of(sum);
  }
}

// out = factor * sum, a row of D numbers; the sum is not kept.
inline void finish_row(float* sum, float factor, std::int64_t D, float* out) {
  for (std::int64_t d = 0; d < D; ++d) out[d] = sum[d] * factor;
}
inline void finish_row(float* sum, float factor, std::int64_t D, bf16* out) {
  for (std::int64_t d = 0; d < D; ++d) sum[d] *= factor;
  round_row(sum, D, out);
}

template <class Op, class E>
void attention_head(const E* q, const E* k, const E* v, const PackSizes<E>& sizes, const AttentionConfig& config, E* o,
                    float* m, float* S, Scratch scratch) {
  constexpr bool kBf16 = std::is_same_v<E, bf16>;
  std::int64_t T = sizes.T, D = sizes.D, width = sizes.width;
  const auto* q_along = words_along(q, sizes, scratch);
  const auto* k_T = words_transposed<E>(words_along(k, sizes, scratch), sizes, scratch);
  const auto* v_down = words_down(v, sizes, words_along(v, sizes, scratch), scratch);
  float* s = scratch.take<float>(kTile * kTile);
  E* weights = reinterpret_cast<E*>(kBf16 ? scratch.take<float>(kTile * kTile / 2) : s);
  QueryTile rows;
  rows.o = scratch.take<float>(kTile * width);
  rows.width = width;
  float scale = static_cast<float>(config.scale);

  for (std::int64_t i0 = 0; i0 < T; i0 += kTile) {
    std::fill_n(rows.m, kTile, Op::shift_by_row_max ? std::numeric_limits<float>::lowest() : 0.0f);
    std::fill_n(rows.S, kTile, 0.0f);
    std::memset(rows.o, 0, sizeof(float) * kTile * width);

    for (std::int64_t j0 = 0; j0 < T; j0 += kTile) {
      Tile tile;
      if (!tile.open(config.range, T, i0, j0)) continue;
      score_tile(tile, sizes, q_along + i0 * sizes.row_words, k_T + j0 * sizes.depth, s);
      for (int block = 0; block * kRowBlock < tile.queries; ++block) {
        auto weigh = tile.complete ? weigh_rows<Op, true> : weigh_rows<Op, false>;
        weigh(tile, block, scale, s, rows);
      }
      if constexpr (kBf16) round_rows(tile, s, weights);
      mix_keys(tile, sizes, weights, v_down + j0 / Words<E>::kPerWord * width, rows.o);
    }

    for (std::int64_t i = 0; i < std::min<std::int64_t>(kTile, T - i0); ++i) {
      finish_row(rows.o + i * width, 1.0f / Op::z(rows.S[i]), D, o + (i0 + i) * D);
      m[i0 + i] = rows.m[i];
      S[i0 + i] = rows.S[i];
    }
  }
}

template <class Op, class E>
void attention(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& v_BHTD, const AttentionConfig& config,
               Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  std::int64_t T = q_BHTD.dim(2), D = q_BHTD.dim(3);
  PackSizes<E> sizes{T, D};
  Tensor scratch = thread_scratch(3 * sizes.along() + sizes.transposed() + sizes.down() + 2 * kTile * kTile +
                                  kTile * sizes.width + 128);
  parallel_for(q_BHTD.dim(0) * q_BHTD.dim(1), [&](std::int64_t bh) {
    attention_head<Op>(q_BHTD.data<E>() + bh * T * D, k_BHTD.data<E>() + bh * T * D, v_BHTD.data<E>() + bh * T * D,
                       sizes, config, o_BHTD.data<E>() + bh * T * D, m_BHT.data<float>() + bh * T,
                       S_BHT.data<float>() + bh * T, scratch_of_thread(scratch));
  });
}

}  // namespace sink::cpu
