// Fast attention on the CPU, f32 and bf16: one head a task, tile by tile, no T x T matrix. The formulas are in
// attention.h; attention_ref.h is the same in plain loops.
#pragma once

#include <limits>
#include <type_traits>

#include "engine/ops/attention/attention_extras.h"
#include "engine/ops/attention/attention_products.h"
#include "engine/threads.h"

namespace sink::cpu {

// One float of scratch a thread and word; the allocator keeps the block, so a training step asks the system for
// nothing.
inline Tensor thread_scratch(std::int64_t words) { return Tensor::empty({thread_count(), round_up(words, 16)}); }
inline Scratch scratch_of_thread(Tensor& all) { return Scratch(all.data<float>() + thread_index() * all.dim(1)); }

// One task: which head, and what it reads besides q, k and v.
struct HeadTask {
  std::int64_t bh, bg;  // its place among all query heads and among all key heads
  std::int64_t T;
  float scale;
  KeyRange range;
  HeadSlot slot;
  const float* bias;  // by distance, or null

  HeadTask(std::int64_t bh, const Tensor& q_BHTD, const Tensor& k_BGTD, const AttentionConfig& config)
      : bh(bh),
        T(q_BHTD.dim(2)),
        scale(static_cast<float>(config.scale)),
        range(config.range),
        slot(config.slot, bh % q_BHTD.dim(1), q_BHTD.dim(3)),
        bias(nullptr) {
    std::int64_t H = q_BHTD.dim(1), G = k_BGTD.dim(1), h = bh % H;
    bg = bh / H * G + h / (H / G);
    if (config.bias_HT.defined()) bias = config.bias_HT.data<float>() + h * config.bias_HT.dim(1);
  }

  template <class Op>
  AttentionRow<Op, float> row(const Op& op, std::int64_t i, float m, float S) const {
    return {op, m, S, static_cast<float>(range.count(i, T))};
  }
  DistanceTable bias_table(std::int64_t positions, Scratch& scratch) const {
    if (!bias) return {};
    DistanceTable table(positions, scratch);
    table.load(bias, T);
    return table;
  }
};

// The scores of a tile. Without a bias they still lack the factor that is returned, which costs nothing to apply later.
template <class E>
float score_tile_with_bias(const Tile& tile, const PackSizes<E>& sizes, const typename Words<E>::Word* q,
                           const typename Words<E>::Word* k_T, float scale, const DistanceTable& bias, float* s) {
  score_tile(tile, sizes, q, k_T, s);
  if (!bias.present()) return scale;
  for (int block = 0; block * kRowBlock < tile.queries; ++block) add_bias(tile, block, scale, bias, s);
  return 1.0f;
}

// What forward keeps of kTile queries while it walks along the keys.
struct QueryTile {
  float m[kTile], S[kTile];
  float* o;  // sum_j g(s_ij - m_i) v_j, rows of `width`
  std::int64_t width;
};

// Before the first key, each row holds the slot or nothing.
template <class Op, class E>
void start_rows(const Op op, const HeadTask& task, std::int64_t i0, const E* q, std::int64_t D, QueryTile& rows) {
  std::memset(rows.o, 0, sizeof(float) * kTile * rows.width);
  for (int i = 0; i < kTile; ++i) {
    rows.m[i] = first_m(op, static_cast<float>(task.range.count(i0 + i, task.T)));
    rows.S[i] = 0;
    if (!task.slot.present() || i0 + i >= task.T) continue;
    float s = task.slot.score(q + (i0 + i) * D, task.scale, D);
    rows.m[i] = raised_m(op, rows.m[i], s);
    AttentionRow row(op, rows.m[i]);
    rows.S[i] = row.r(s - rows.m[i]);
    if (task.slot.v) add_row(row.g(s - rows.m[i]), task.slot.v, rows.o + i * rows.width, D);
  }
}

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

// Kernels that apply an operation to rows of scores are marked flatten: everything they call is inlined, without which
// loops would not become vector code.

// One block of queries of a tile on the way forward: turns scores s into g(s - m) in place, and moves m, S and the
// unfinished o to the new row maximum.
template <class Op, bool kComplete>
[[gnu::flatten]] void weigh_rows(const Op op, const Tile& tile, int block, float scale, float* s, QueryTile& rows) {
  Span run = tile.key_runs[block];
  for (int i = block * kRowBlock; i < (block + 1) * kRowBlock; ++i) {
    float* s_i = s + i * kTile;
    VisibleKeys visible = tile.visible(i);
    if constexpr (ShiftsByMax<Op>) {
      float raised = raised_m(op, rows.m[i], row_maximum<kComplete>(s_i, run, visible, scale));
      if (raised > rows.m[i]) {
        if (rows.S[i] != 0) {  // g(s - raised) = g(s - m) e^(m - raised)
          AttentionRow row(op, raised);
          float drop = rows.m[i] - raised, rescale = row.g_factor(drop);
          rows.S[i] *= row.r_factor(drop);
          for (std::int64_t d = 0; d < rows.width; ++d) rows.o[i * rows.width + d] *= rescale;
        }
        rows.m[i] = raised;
      }
    }
    float m = rows.m[i];
    AttentionRow row(op, m);
    FloatVector sum{};
    for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
      float r_n[kVectorFloats];
#pragma omp simd
      for (int n = 0; n < kVectorFloats; ++n) {
        bool counts = kComplete || visible(static_cast<int>(j) + n);
        float x = s_i[j + n] * scale - m;
        float gx = row.g(x), rx = row.r(x);
        s_i[j + n] = counts ? gx : 0.0f;
        r_n[n] = counts ? rx : 0.0f;
      }
      sum += load_numbers(r_n);
    }
    rows.S[i] += sum_of(sum);
  }
}

// The same once m and S are known: turns scores into weights a, in place.
template <class Op, bool kComplete>
[[gnu::flatten]] void weight_rows(const Op op, const Tile& tile, int block, float scale, const float* m,
                                  const float* inverse, float* s) {
  Span run = tile.key_runs[block];
  for (int i = block * kRowBlock; i < (block + 1) * kRowBlock; ++i) {
    float* s_i = s + i * kTile;
    float m_i = m[i], inverse_i = inverse[i];
    AttentionRow row(op, m_i);
    VisibleKeys visible = tile.visible(i);
#pragma omp simd
    for (std::int64_t j = run.begin; j < run.end; ++j) {
      float a = row.post(row.g(s_i[j] * scale - m_i) * inverse_i);
      s_i[j] = kComplete || visible(static_cast<int>(j)) ? a : 0.0f;
    }
  }
}
template <class Op>
void weight_tile(const Op op, const Tile& tile, float scale, const float* m, const float* inverse, float* s) {
  for (int block = 0; block * kRowBlock < tile.queries; ++block) {
    auto weight = tile.complete ? weight_rows<Op, true> : weight_rows<Op, false>;
    weight(op, tile, block, scale, m, inverse, s);
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
void attention_head(const Op op, const HeadTask& task, const E* q, const E* k, const E* v, const PackSizes<E>& sizes,
                    E* o, float* m, float* S, Scratch scratch) {
  constexpr bool kBf16 = std::is_same_v<E, bf16>;
  std::int64_t T = sizes.T, D = sizes.D, width = sizes.width;
  const auto* q_along = words_along(q, sizes, scratch);
  const auto* k_T = words_transposed<E>(words_along(k, sizes, scratch), sizes, scratch);
  const auto* v_down = words_down(v, sizes, words_along(v, sizes, scratch), scratch);
  DistanceTable bias = task.bias_table(sizes.positions, scratch);
  float* s = scratch.take<float>(kTile * kTile);
  E* weights = reinterpret_cast<E*>(kBf16 ? scratch.take<float>(kTile * kTile / 2) : s);
  QueryTile rows;
  rows.o = scratch.take<float>(kTile * width);
  rows.width = width;

  for (std::int64_t i0 = 0; i0 < T; i0 += kTile) {
    std::int64_t queries = std::min<std::int64_t>(kTile, T - i0);
    // Calls weigh(tile, factor that the scores lack) for every tile of these queries.
    auto walk = [&](auto&& weigh) {
      for (std::int64_t j0 = 0; j0 < T; j0 += kTile) {
        Tile tile;
        if (!tile.open(task.range, T, i0, j0)) continue;
        weigh(tile, score_tile_with_bias<E>(tile, sizes, q_along + i0 * sizes.row_words, k_T + j0 * sizes.depth,
                                            task.scale, bias, s));
      }
    };
    auto mix = [&](const Tile& tile) {
      if constexpr (kBf16) round_rows(tile, s, weights);
      mix_keys(tile, sizes, weights, v_down + tile.j0 / Words<E>::kPerWord * width, rows.o);
    };

    start_rows(op, task, i0, q, D, rows);
    walk([&](const Tile& tile, float scale) {
      for (int block = 0; block * kRowBlock < tile.queries; ++block) {
        auto weigh = tile.complete ? weigh_rows<Op, true> : weigh_rows<Op, false>;
        weigh(op, tile, block, scale, s, rows);
      }
      if constexpr (!HasPost<Op>) mix(tile);
    });

    float inverse[kTile] = {};
    for (int i = 0; i < queries; ++i) inverse[i] = 1.0f / task.row(op, i0 + i, rows.m[i], rows.S[i]).z();
    if constexpr (HasPost<Op>) {
      std::memset(rows.o, 0, sizeof(float) * kTile * width);
      for (int i = 0; i < queries && task.slot.v; ++i) {
        float x = task.slot.score(q + (i0 + i) * D, task.scale, D) - rows.m[i];
        AttentionRow row(op, rows.m[i]);
        add_row(row.post(row.g(x) * inverse[i]), task.slot.v, rows.o + i * width, D);
      }
      walk([&](const Tile& tile, float scale) {
        weight_tile(op, tile, scale, rows.m, inverse, s);
        mix(tile);
      });
    }

    for (int i = 0; i < queries; ++i) {
      finish_row(rows.o + i * width, HasPost<Op> ? 1.0f : inverse[i], D, o + (i0 + i) * D);
      m[i0 + i] = rows.m[i];
      S[i0 + i] = rows.S[i];
    }
  }
}

template <class Op, class E>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& v_BGTD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  std::int64_t T = q_BHTD.dim(2), D = q_BHTD.dim(3);
  PackSizes<E> sizes{T, D};
  Tensor scratch = thread_scratch(3 * sizes.along() + sizes.transposed() + sizes.down() + 2 * kTile * kTile +
                                  kTile * sizes.width + DistanceTable::words(sizes.positions) + 128);
  parallel_for(q_BHTD.dim(0) * q_BHTD.dim(1), [&](std::int64_t bh) {
    HeadTask task(bh, q_BHTD, k_BGTD, config);
    attention_head<Op>(op, task, q_BHTD.data<E>() + bh * T * D, k_BGTD.data<E>() + task.bg * T * D,
                       v_BGTD.data<E>() + task.bg * T * D, sizes, o_BHTD.data<E>() + bh * T * D,
                       m_BHT.data<float>() + bh * T, S_BHT.data<float>() + bh * T, scratch_of_thread(scratch));
  });
}

}  // namespace sink::cpu
