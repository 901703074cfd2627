// Attention on the CPU, f32 and bf16: tile by tile, without a T x K matrix (FlashAttention: Dao et al. 2022 and 2023;
// the running row maximum is that of online softmax, Milakov and Gimelshein 2018). The formulas are in attention.h;
// attention_ref.h has the same in plain loops.
#pragma once

#include <limits>
#include <type_traits>

#include "engine/ops/attention/cpu/attention_extras.h"
#include "engine/ops/attention/cpu/attention_few_queries.h"
#include "engine/ops/attention/cpu/attention_head_tasks.h"
#include "engine/ops/attention/cpu/attention_products.h"
#include "engine/ops/attention/cpu/attention_threshold.h"

namespace sink::cpu {

// These are at the end of the file: sizes, one head, its inputs and outputs, and the state of a tile of queries.
template <class E>
struct HeadSizes;
template <class E>
struct Head;
template <class E>
struct ForwardPanels;
template <class E>
struct HeadOutputs;
template <class E>
struct QueryTile;

// The queries t0 ... of one head.
template <class Op, class E>
void attention_query_tile(const Op op, const Head<E>& head, const ForwardPanels<E>& panels, std::int64_t t0,
                          QueryTile<E>& rows, const HeadOutputs<E>& out) {
  std::int64_t queries = std::min<std::int64_t>(kTile, head.span.T - t0), D = head.sizes.D();
  start_rows(op, head, t0, rows);
  if constexpr (ShiftsByThreshold<Op>) {
    find_thresholds(op, head, panels, t0, queries, rows);
  } else {
    for_each_key_tile(head.span, t0, [&](const Tile& tile) {
      float scale = forward_scores(tile, head, panels, rows.s);
      for_each_block(tile, [&](int block, auto complete) { exp_tile<Op, complete()>(op, tile, block, scale, rows); });
      if constexpr (!NeedsWholeRow<Op>) mix_values(tile, head, panels, rows);
    });
  }
  std::fill_n(rows.inverse, kTile, 0.0f);
  for (int i = 0; i < queries; ++i) rows.inverse[i] = 1.0f / head.row(op, t0 + i, rows.m[i], rows.S[i]).z();
  if constexpr (NeedsWholeRow<Op>) mix_known_rows(op, head, panels, t0, queries, rows);
  for (int i = 0; i < queries; ++i) {
    store_row(rows.o + i * rows.width, NeedsWholeRow<Op> ? 1.0f : rows.inverse[i], D, out.o + (t0 + i) * D);
    out.m[t0 + i] = rows.m[i];
    out.S[t0 + i] = rows.S[i];
  }
}

template <class Op, class E>
void attention_of(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                  const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  HeadSizes<E> sizes(q_BHTD, k_BGKD, config);
  HeadTasks tasks(q_BHTD.dim(0) * q_BHTD.dim(1));
  ScratchBlocks<ForwardPanels<E>> panels(tasks.head_blocks(), sizes);
  ScratchBlocks<QueryTile<E>> rows(tasks.task_blocks(), sizes, ShiftsByThreshold<Op>);
  auto load = [&](std::int64_t bh, std::int64_t) {
    Head<E> head(bh, sizes, q_BHTD, k_BGKD, config);
    panels[tasks.head_block(bh)].load_for(head, k_BGKD, v_BGKD);
  };
  std::int64_t T = sizes.span.T, tiles = sizes.queries.tiles;
  auto query_tile = [&](std::int64_t bh, std::int64_t n) {
    Head<E> head(bh, sizes, q_BHTD, k_BGKD, config);
    HeadOutputs<E> out{Head<E>::rows_of(o_BHTD, bh), m_BHT.data<float>() + bh * T, S_BHT.data<float>() + bh * T};
    std::int64_t t0 = (tiles - 1 - n) * kTile;  // the queries that see the most keys first
    attention_query_tile(op, head, panels[tasks.head_block(bh)], t0, rows[tasks.task_block()], out);
  };
  tasks.run({{1, load}, {tiles, query_tile}});
}

template <class Op>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  with_real<float, bf16>(q_BHTD.dtype(), [&](auto zero) {
    attention_of<Op, decltype(zero)>(op, q_BHTD, k_BGKD, v_BGKD, config, o_BHTD, m_BHT, S_BHT);
  });
}

// The steps of attention_query_tile, in its order.

// The state before the first key: that of the extra key, if there is one.
template <class Op, class E>
void start_rows(const Op op, const Head<E>& head, std::int64_t t0, QueryTile<E>& rows) {
  std::memset(rows.o, 0, sizeof(float) * kTile * rows.width);
  for (int i = 0; i < kTile; ++i) {
    rows.m[i] = first_m(op, head.count(t0 + i));
    rows.S[i] = 0;
    if (!head.extra.present() || t0 + i >= head.span.T) continue;
    float s = head.extra_score(t0 + i);
    rows.m[i] = raised_m(op, rows.m[i], s);
    AttentionRow row(op, rows.m[i]);
    rows.S[i] = row.r(s - rows.m[i]);
    if (head.extra.v) add_row(row.g(s - rows.m[i]), head.extra.v, rows.o + i * rows.width, head.sizes.D());
  }
}

// Kernels that apply an operation to rows of scores are marked flatten: their loops vectorize only if all calls are
// inlined.

// Online softmax over one block of queries of a tile: turns scores s into g(s - m) in place (for softmax g = exp), and
// rescales S and the unfinished o to the new row maximum m.
template <class Op, bool kComplete, class E>
[[gnu::flatten, gnu::noinline]] void exp_tile(const Op op, const Tile& tile, int block, float scale,
                                              QueryTile<E>& rows) {
  float* s = rows.s;
  Span run = tile.key_runs[block];
  for (int i = block * kRowBlock; i < (block + 1) * kRowBlock; ++i) {
    float* s_i = s + i * kTile;
    VisibleKeys visible = tile.visible(i);
    if constexpr (ShiftsByMax<Op>) {
      float raised = raised_m(op, rows.m[i], row_max<kComplete>(s_i, run, visible, scale));
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
      sum += load_floats(r_n);
    }
    rows.S[i] += sum_of(sum);
  }
}

// Turns scores into weights a, in place, for one block of queries with known m and z.
template <class Op, bool kComplete>
[[gnu::flatten, gnu::noinline]] void normalize_tile(const Op op, const Tile& tile, int block, float scale,
                                                    const float* m, const float* inverse, float* s) {
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
// The same for all blocks of a tile.
template <class Op>
void weights_from_scores(const Op op, const Tile& tile, float scale, const float* m, const float* inverse, float* s) {
  for_each_block(
      tile, [&](int block, auto complete) { normalize_tile<Op, complete()>(op, tile, block, scale, m, inverse, s); });
}

// o += weights v over the keys of a tile; the weights are in rows.s.
template <class E>
void mix_values(const Tile& tile, const Head<E>& head, const ForwardPanels<E>& panels, QueryTile<E>& rows) {
  if constexpr (std::is_same_v<E, float>)
    if (panels.v_rows) return mix_rows(tile, few_queries(head), panels.v_rows, rows.s, rows.width, rows.o);
  if constexpr (std::is_same_v<E, bf16>) round_rows(tile, rows.s, rows.weights);
  mix_keys(tile, head.sizes.keys, rows.weights, panels.v.by_row_pair + tile.j0 / Words<E>::kPerWord * rows.width,
           rows.o);
}

// m and S of the queries t0 ..., for operations with a threshold.
template <class Op, class E>
void find_thresholds(const Op op, const Head<E>& head, const ForwardPanels<E>& panels, std::int64_t t0,
                     std::int64_t queries, QueryTile<E>& rows) {
  std::int64_t stored = 0;  // scores of each row
  for_each_key_tile(head.span, t0, [&](const Tile& tile) {
    float scale = forward_scores(tile, head, panels, rows.s);
    for_each_block(tile, [&](int block, auto complete) {
      store_scores<complete()>(tile, block, scale, rows.s, rows.row_size, rows.scores + stored);
    });
    stored += kTile;
  });
  for (std::int64_t i = 0; i < queries; ++i) {
    float extra = head.extra.present() ? head.extra_score(t0 + i) : std::numeric_limits<float>::lowest();
    find_threshold(op, rows.scores + i * rows.row_size, stored, extra, rows.m[i], rows.S[i]);
  }
}

// The second pass over the keys of operations whose weights need m and S of the whole row: computes o.
template <class Op, class E>
void mix_known_rows(const Op op, const Head<E>& head, const ForwardPanels<E>& panels, std::int64_t t0,
                    std::int64_t queries, QueryTile<E>& rows) {
  std::memset(rows.o, 0, sizeof(float) * kTile * rows.width);
  for (int i = 0; i < queries && head.extra.v; ++i) {
    float x = head.extra_score(t0 + i) - rows.m[i];
    AttentionRow row(op, rows.m[i]);
    add_row(row.post(row.g(x) * rows.inverse[i]), head.extra.v, rows.o + i * rows.width, head.sizes.D());
  }
  for_each_key_tile(head.span, t0, [&](const Tile& tile) {
    float scale = forward_scores(tile, head, panels, rows.s);
    weights_from_scores(op, tile, scale, rows.m, rows.inverse, rows.s);
    mix_values(tile, head, panels, rows);
  });
}

// Its data, and the scores of a tile.

// The sizes that all heads of one call share.
template <class E>
struct HeadSizes {
  PanelSizes<E> queries, keys;
  AttentionSpan span;
  bool bias;

  HeadSizes(const Tensor& q_BHTD, const Tensor& k_BGKD, const AttentionConfig& config)
      : queries{q_BHTD.dim(2), q_BHTD.dim(3)},
        keys{k_BGKD.dim(2), k_BGKD.dim(3)},
        span{q_BHTD.dim(2), k_BGKD.dim(2), config.first_position, config.range},
        bias(config.bias_HT.defined()) {}
  std::int64_t D() const { return queries.D; }
  // The number of distances between a query and the keys that it sees.
  std::int64_t distances() const { return span.first_position + span.T; }
  DistanceTable distance_table(Scratch& scratch) const {
    return {bias, span.first_position + queries.padded, keys.padded, scratch};
  }
};

// One head: its indices and its inputs, except k and v.
template <class E>
struct Head {
  const HeadSizes<E>& sizes;
  std::int64_t bh, bg;  // its index among all query heads and among all key heads
  AttentionSpan span;   // with the documents of its sequence
  float scale;
  HeadExtraKey extra;
  const float* bias;  // by distance, or null
  const E* q;

  Head(std::int64_t bh, const HeadSizes<E>& sizes, const Tensor& q_BHTD, const Tensor& k_BGKD,
       const AttentionConfig& config)
      : sizes(sizes),
        bh(bh),
        span(sizes.span),
        scale(static_cast<float>(config.scale)),
        extra(config.extra_key, bh % q_BHTD.dim(1), sizes.D()),
        bias(nullptr),
        q(rows_of(q_BHTD, bh)) {
    std::int64_t H = q_BHTD.dim(1), G = k_BGKD.dim(1), h = bh % H;
    bg = bh / H * G + h / (H / G);
    span.range = config.range_of(bh / H);
    if (config.bias_HT.defined()) bias = config.bias_HT.data<float>() + h * config.bias_HT.dim(1);
  }

  // The values of one head of a tensor.
  static const E* rows_of(const Tensor& x, std::int64_t head) { return x.data<E>() + head * x.dim(2) * x.dim(3); }
  static E* rows_of(Tensor& x, std::int64_t head) { return x.data<E>() + head * x.dim(2) * x.dim(3); }

  std::int64_t position(std::int64_t t) const { return span.first_position + t; }
  float count(std::int64_t t) const { return static_cast<float>(span.range.count(position(t), span.K)); }
  const E* q_row(std::int64_t t) const { return q + t * sizes.D(); }
  float extra_score(std::int64_t t) const { return extra.score(q_row(t), scale, sizes.D()); }
  template <class Op>
  AttentionRow<Op, float> row(const Op& op, std::int64_t t, float m, float S) const {
    return {op, m, S, count(t)};
  }
};

// The inputs of the scores of one head: panels of q and k, and the bias.
template <class E>
struct ScorePanels {
  Panel<E> q, k;
  DistanceTable bias;

  ScorePanels(const HeadSizes<E>& sizes, int q_layouts, int k_layouts, Scratch& scratch)
      : q(sizes.queries, q_layouts, scratch), k(sizes.keys, k_layouts, scratch), bias(sizes.distance_table(scratch)) {}
  void load(const Head<E>& head, const Tensor& k_BGKD) {
    q.load(head.q);
    k.load(Head<E>::rows_of(k_BGKD, head.bg));
    if (head.bias) bias.load(head.bias, head.sizes.distances());
  }
};

// q_i . k_j of a tile.
template <class E>
void product_tile(const Tile& tile, const PanelSizes<E>& sizes, const Panel<E>& q, const Panel<E>& k, float* s) {
  score_tile(tile, sizes, q.by_row + tile.t0 * sizes.row_words, k.transposed + tile.j0 * sizes.row_words, s);
}
// Turns products into scores, up to the returned factor: without a bias, the caller applies the scale.
template <class E>
float with_bias(const Tile& tile, const Head<E>& head, const DistanceTable& bias, float* s) {
  if (!bias.present()) return head.scale;
  for (int block = 0; block * kRowBlock < tile.queries; ++block) add_bias(tile, block, head.scale, bias, s);
  return 1.0f;
}
template <class E>
float score_tile_with_bias(const Tile& tile, const Head<E>& head, const ScorePanels<E>& panels, float* s) {
  product_tile(tile, head.sizes.queries, panels.q, panels.k, s);
  return with_bias(tile, head, panels.bias, s);
}

inline FewQueries few_queries(const Head<float>& head) { return {head.q, head.span.T, head.span.K, head.sizes.D()}; }

// The inputs of one head as panels, or as pointers to its rows where there are few queries (attention_few_queries.h).
// Both give the same bits.
template <class E>
struct ForwardPanels : ScorePanels<E> {
  Panel<E> v;
  const E *k_rows = nullptr, *v_rows = nullptr;  // set where there are few queries

  ForwardPanels(const HeadSizes<E>& sizes, Scratch& scratch)
      : ScorePanels<E>(sizes, kByRow, kTransposed, scratch), v(sizes.keys, kByRowPair, scratch) {}

  void load_for(const Head<E>& head, const Tensor& k_BGKD, const Tensor& v_BGKD) {
    if (!std::is_same_v<E, float> || head.span.T > kFewQueries) {
      this->load(head, k_BGKD);
      return v.load(Head<E>::rows_of(v_BGKD, head.bg));
    }
    k_rows = Head<E>::rows_of(k_BGKD, head.bg);
    v_rows = Head<E>::rows_of(v_BGKD, head.bg);
    if (head.bias) this->bias.load(head.bias, head.sizes.distances());
  }
};

template <class E>
float forward_scores(const Tile& tile, const Head<E>& head, const ForwardPanels<E>& panels, float* s) {
  if constexpr (std::is_same_v<E, float>)
    if (panels.k_rows) {
      product_rows(tile, few_queries(head), panels.k_rows, s);
      return with_bias(tile, head, panels.bias, s);
    }
  return score_tile_with_bias(tile, head, panels, s);
}

// The outputs of one head.
template <class E>
struct HeadOutputs {
  E* o;
  float *m, *S;
};

// The state of kTile queries during the pass over the keys.
template <class E>
struct QueryTile {
  std::int64_t width;
  float *s, *o;   // o: sum_j g(s_ij - m_i) v_j, rows of `width`
  E* weights;     // bf16: s, rounded
  float* scores;  // for operations with a threshold: of the queries and all keys, rows of row_size
  std::int64_t row_size;
  float m[kTile], S[kTile], inverse[kTile];

  QueryTile(const HeadSizes<E>& sizes, bool stores_scores, Scratch& scratch)
      : width(sizes.queries.width),
        s(scratch.take<float>(kTile * kTile)),
        o(scratch.take<float>(kTile * width)),
        row_size(sizes.keys.tiles * kTile) {
    scores = stores_scores ? scratch.take<float>(kTile * row_size) : nullptr;
    if constexpr (std::is_same_v<E, bf16>) {
      weights = reinterpret_cast<E*>(scratch.take<float>(kTile * kTile / 2));
    } else {
      weights = s;
    }
  }
};

}  // namespace sink::cpu
