// The backward pass of attention_cpu.h: an outer loop over key tiles, an inner loop over query tiles, five products for
// each pair of tiles (Dao et al. 2023). dk and dv of the key tile and dq of the head are summed in scratch memory, in a
// fixed order: at each query tile, a key tile waits for the key tiles before it.
#pragma once

#include <atomic>

#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/cpu/attention_cpu.h"
#include "engine/ops/attention/cpu/attention_partial_gradients.h"

namespace sink::cpu {

// The row constants of the gradient of a score.
struct RowState {
  float m;
  float inverse;  // 1 / z
  float dz_D;     // z' D
};

// ds = (g' dw - r' z' D) / z
template <class Op>
inline float score_gradient(const AttentionRow<Op, float>& f, float x, float dw, const RowState& row) {
  float dg = f.dg(x);
  if constexpr (!HasSeparateNormalizer<Op>) return dg * (dw - row.dz_D) * row.inverse;
  // An explicit fma: otherwise the compiler fuses different products in different copies of this function.
  return std::fma(dg, dw, -(f.dr(x) * row.dz_D)) * row.inverse;
}

// One block of queries of a tile: turns scores s into a, and da into ds, both in place.
template <class Op, bool kComplete>
[[gnu::flatten, gnu::noinline]] void score_rows_backward(const Op op, const Tile& tile, int block, float scale,
                                                         const RowState* rows, float* s, float* da) {
  Span run = tile.key_runs[block];
  for (int i = block * kRowBlock; i < (block + 1) * kRowBlock; ++i) {
    RowState row = rows[i];
    AttentionRow f(op, row.m);
    VisibleKeys visible = tile.visible(i);
    float *s_i = s + i * kTile, *da_i = da + i * kTile;
    for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
#pragma omp simd
      for (int n = 0; n < kVectorFloats; ++n) {
        bool counts = kComplete || visible(static_cast<int>(j) + n);
        float x = s_i[j + n] * scale - row.m;
        float w = f.g(x) * row.inverse;
        float dw = f.dpost(w) * da_i[j + n];
        float ds = score_gradient(f, x, dw, row);
        s_i[j + n] = counts ? f.post(w) : 0.0f;
        da_i[j + n] = counts ? ds : 0.0f;
      }
    }
  }
}

// D_i += sum_j w_ij post'(w_ij) da_ij (a threshold: g'(x_ij) in place of w_ij) over one block of queries of a tile.
template <class Op, bool kComplete>
[[gnu::flatten, gnu::noinline]] void add_weighted_gradients(const Op op, const Tile& tile, int block, float scale,
                                                            const RowState* rows, const float* s, const float* da,
                                                            float* D) {
  Span run = tile.key_runs[block];
  for (int i = block * kRowBlock; i < (block + 1) * kRowBlock; ++i) {
    RowState row = rows[i];
    AttentionRow f(op, row.m);
    VisibleKeys visible = tile.visible(i);
    FloatVector sum{};
    for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
      float w_dw[kVectorFloats];
#pragma omp simd
      for (int n = 0; n < kVectorFloats; ++n) {
        float x = s[i * kTile + j + n] * scale - row.m;
        float w = f.g(x) * row.inverse;
        float product = f.in_D(x, w) * f.dpost(w) * da[i * kTile + j + n];
        w_dw[n] = kComplete || visible(static_cast<int>(j) + n) ? product : 0.0f;
      }
      sum += load_floats(w_dw);
    }
    D[i] += sum_of(sum);
  }
}

// bf16: packs each two rows of a tile into one row of words, with zeros outside the runs.
inline void pair_rows(const Tile& tile, float* x) {
  for (int i = 0; i < kTile; i += 2) {
    auto [begin, end] = i < tile.queries ? tile.key_runs[i / kRowBlock] : Span{0, 0};
    float* x_i = x + i * kTile;
    std::fill_n(x_i, begin, 0.0f);
    round_pair(x_i + begin, x_i + kTile + begin, end - begin, reinterpret_cast<Words<bf16>::Word*>(x_i + begin));
    std::fill(x_i + end, x_i + kTile, 0.0f);
  }
}

// The inputs of the backward pass of a head, besides q, k and v.
template <class E>
struct BackwardInputs {
  const E *grad_o, *o;
  const float *m, *S;
};

// Scratch of one head.
template <class E>
struct BackwardPanels : ScorePanels<E> {
  using Turn = std::atomic<std::int32_t>;
  Panel<E> grad_o, v;
  DistanceTable dbias;
  float *dq, *dextra_k, *dextra_v;
  RowState* rows;
  Turn* turns;  // per query tile: the key tile that adds to it next

  BackwardPanels(const HeadSizes<E>& sizes, Scratch& scratch)
      : ScorePanels<E>(sizes, kByRow | kByRowPair, kByRowPair | kTransposed, scratch),
        grad_o(sizes.queries, kByRow | kByRowPair, scratch),
        v(sizes.keys, kTransposed, scratch),
        dbias(sizes.distance_table(scratch)),
        dq(scratch.take<float>(sizes.queries.padded * sizes.queries.width)),
        dextra_k(scratch.take<float>(sizes.queries.width)),
        dextra_v(scratch.take<float>(sizes.queries.width)),
        rows(scratch.take<RowState>(sizes.queries.padded)),
        turns(scratch.take<Turn>(sizes.queries.tiles)) {}

  void load(const Head<E>& head, const Tensor& k_BGKD, const Tensor& v_BGKD, const Tensor& do_BHTD) {
    const PanelSizes<E>& queries = head.sizes.queries;
    ScorePanels<E>::load(head, k_BGKD);
    grad_o.load(Head<E>::rows_of(do_BHTD, head.bh));
    v.load(Head<E>::rows_of(v_BGKD, head.bg));
    if (head.bias) dbias.clear();
    std::memset(dq, 0, sizeof(float) * queries.padded * queries.width);
    for (std::int64_t n = 0; n < queries.tiles; ++n) new (turns + n) Turn(0);
  }
  void await_turn(std::int64_t query_tile, std::int32_t key_tile) const {
    for (std::int32_t turn; (turn = turns[query_tile].load(std::memory_order_acquire)) != key_tile;)
      turns[query_tile].wait(turn, std::memory_order_acquire);
  }
  // exchange() and not store(): notify_all() of libstdc++ first reads whether a thread waits. A store may reach the
  // other threads only after that read, and then a thread that begins to wait in between is never woken.
  void pass_turn(std::int64_t query_tile, std::int32_t key_tile) const {
    turns[query_tile].exchange(key_tile + 1);
    turns[query_tile].notify_all();
  }
};

// Scratch of one task.
template <class E>
struct GradientTile {
  float *s, *da;   // of a pair of tiles; then a and ds
  E* ds_by_query;  // bf16: ds, rounded
  float *dk, *dv;  // of a key tile

  GradientTile(const HeadSizes<E>& sizes, Scratch& scratch)
      : s(scratch.take<float>(kTile * kTile)), da(scratch.take<float>(kTile * kTile)) {
    if constexpr (std::is_same_v<E, bf16>) {
      ds_by_query = reinterpret_cast<E*>(scratch.take<float>(kTile * kTile / 2));
    } else {
      ds_by_query = da;
    }
    dk = scratch.take<float>(kTile * sizes.keys.width);
    dv = scratch.take<float>(kTile * sizes.keys.width);
  }
};

// Computes the scores of a tile, up to the returned factor, and da_ij = do_i . v_j.
template <class E>
float scores_and_da(const Tile& tile, const Head<E>& head, const BackwardPanels<E>& panels, GradientTile<E>& pair) {
  float scale = score_tile_with_bias(tile, head, panels, pair.s);
  product_tile(tile, head.sizes.queries, panels.grad_o, panels.v, pair.da);
  return scale;
}

// D_i of the queries t0 ..., for operations where it is not do_i . o_i.
template <class Op, class E>
void sum_weighted_gradients(const Op op, const Head<E>& head, const BackwardPanels<E>& panels, const E* grad_o,
                            std::int64_t t0, std::int64_t queries, GradientTile<E>& pair, float* D_i) {
  const RowState* rows = panels.rows + t0;
  for_each_key_tile(head.span, t0, [&](const Tile& tile) {
    float scale = scores_and_da(tile, head, panels, pair);
    for_each_block(tile, [&](int block, auto complete) {
      add_weighted_gradients<Op, complete()>(op, tile, block, scale, rows, pair.s, pair.da, D_i);
    });
  });
  std::int64_t D = head.sizes.D();
  for (std::int64_t i = 0; i < queries && head.extra.v; ++i) {
    float x = head.extra_score(t0 + i) - rows[i].m;
    AttentionRow f(op, rows[i].m);
    float w = f.g(x) * rows[i].inverse;
    D_i[i] += f.in_D(x, w) * f.dpost(w) * row_dot(grad_o + (t0 + i) * D, head.extra.v, D);
  }
}

// First stage: the row constants of the queries t0 ...
template <class Op, class E>
void find_row_states(const Op op, const Head<E>& head, const BackwardInputs<E>& in, std::int64_t t0,
                     const BackwardPanels<E>& panels, GradientTile<E>& pair) {
  std::int64_t queries = std::min<std::int64_t>(kTile, head.span.T - t0), D = head.sizes.D();
  RowState* rows = panels.rows + t0;
  // Padding: scores are far below m, where g is 0 or finite, and 1 / z is 0, so weights are 0.
  for (std::int64_t i = queries; i < std::min<std::int64_t>(kTile, head.sizes.queries.padded - t0); ++i)
    rows[i] = {std::numeric_limits<float>::max(), 0, 0};
  auto row_of = [&](std::int64_t i) { return head.row(op, t0 + i, in.m[t0 + i], in.S[t0 + i]); };
  for (std::int64_t i = 0; i < queries; ++i) rows[i] = {in.m[t0 + i], 1.0f / row_of(i).z(), 0};
  float D_i[kTile] = {};
  if constexpr (NeedsWholeRow<Op>) {
    sum_weighted_gradients(op, head, panels, in.grad_o, t0, queries, pair, D_i);
  } else {
    for (std::int64_t i = 0; i < queries; ++i) D_i[i] = row_dot(in.grad_o + (t0 + i) * D, in.o + (t0 + i) * D, D);
  }
  for (std::int64_t i = 0; i < queries; ++i) rows[i].dz_D = row_of(i).dz() * D_i[i];
}

// The gradients through one pair of tiles: adds to dk and dv, and in its turn to dq and dbias.
template <class Op, class E>
void backward_tile(const Op op, const Tile& tile, const Head<E>& head, BackwardPanels<E>& panels,
                   GradientTile<E>& pair) {
  constexpr int kPerWord = Words<E>::kPerWord;
  const PanelSizes<E>& sizes = head.sizes.queries;
  auto query_tile = tile.t0 / kTile;
  auto key_tile = static_cast<std::int32_t>(tile.j0 / kTile);
  float scale = scores_and_da(tile, head, panels, pair);
  for_each_block(tile, [&](int block, auto complete) {
    score_rows_backward<Op, complete()>(op, tile, block, scale, panels.rows + tile.t0, pair.s, pair.da);
  });
  if (head.bias) {
    panels.await_turn(query_tile, key_tile);
    add_bias_gradient(tile, pair.da, panels.dbias);
  }
  if constexpr (std::is_same_v<E, bf16>) {
    round_rows(tile, pair.da, pair.ds_by_query);
    pair_rows(tile, pair.s);
    pair_rows(tile, pair.da);
  }
  std::int64_t query_words = tile.t0 / kPerWord * sizes.width, key_words = tile.j0 / kPerWord * sizes.width;
  mix_queries<E>(tile, sizes, pair.s, panels.grad_o.by_row_pair + query_words, pair.dv);
  mix_queries<E>(tile, sizes, pair.da, panels.q.by_row_pair + query_words, pair.dk);
  panels.await_turn(query_tile, key_tile);
  mix_keys(tile, sizes, pair.ds_by_query, panels.k.by_row_pair + key_words, panels.dq + tile.t0 * sizes.width);
}

// Second stage: dk and dv of the keys of one tile, and their terms of dq and dbias.
template <class Op, class E>
void backward_key_tile(const Op op, const Head<E>& head, std::int64_t key_tile, BackwardPanels<E>& panels,
                       GradientTile<E>& pair, const HeadGradients<E>& out) {
  const AttentionSpan& span = head.span;
  std::int64_t width = head.sizes.keys.width, D = head.sizes.D(), j0 = key_tile * kTile;
  std::memset(pair.dk, 0, sizeof(float) * kTile * width);
  std::memset(pair.dv, 0, sizeof(float) * kTile * width);
  for (std::int64_t n = 0; n < head.sizes.queries.tiles; ++n) {
    Tile tile;
    if (tile.open(span, n * kTile, j0)) backward_tile(op, tile, head, panels, pair);
    panels.await_turn(n, static_cast<std::int32_t>(key_tile));
    panels.pass_turn(n, static_cast<std::int32_t>(key_tile));
  }
  for (std::int64_t j = 0; j < std::min<std::int64_t>(kTile, span.K - j0); ++j) {
    float *dk_j = pair.dk + j * width, *dv_j = pair.dv + j * width;
    std::int64_t place = (j0 + j) * D;
    if (out.dk_of_query_head) {
      store_row(dk_j, head.scale, D, out.dk_of_query_head + place);
      store_row(dv_j, 1.0f, D, out.dv_of_query_head + place);
    } else {
      store_row(dk_j, head.scale, D, out.dk + place);
      store_row(dv_j, 1.0f, D, out.dv + place);
    }
  }
}

// The extra key in one row: adds to dq_i (without the scale) and to the gradients of the extra key.
template <class Op, class E>
void extra_key_row_backward(const Op op, const Head<E>& head, const RowState& row, std::int64_t t, const E* do_i,
                            BackwardPanels<E>& panels, double& dextra_logit) {
  std::int64_t D = head.sizes.D();
  AttentionRow f(op, row.m);
  float x = head.extra_score(t) - row.m;
  float w = f.g(x) * row.inverse;
  float da = head.extra.v ? row_dot(do_i, head.extra.v, D) : 0.0f;
  float ds = score_gradient(f, x, f.dpost(w) * da, row);
  dextra_logit += ds;
  if (head.extra.v) add_row(f.post(w), do_i, panels.dextra_v, D);
  if (!head.extra.k) return;
  add_row(ds, head.extra.k, panels.dq + t * head.sizes.queries.width, D);
  add_row(ds, head.q_row(t), panels.dextra_k, D);
}

// Third stage: the extra key, then dbias and dq, which all key tiles have added to.
template <class Op, class E>
void finish_head(const Op op, const Head<E>& head, const BackwardInputs<E>& in, BackwardPanels<E>& panels,
                 const HeadGradients<E>& out) {
  std::int64_t T = head.span.T, D = head.sizes.D(), width = head.sizes.queries.width;
  if (head.extra.present()) {
    double dextra_logit = 0;
    std::fill_n(panels.dextra_k, width, 0.0f);
    std::fill_n(panels.dextra_v, width, 0.0f);
    for (std::int64_t t = 0; t < T; ++t)
      extra_key_row_backward(op, head, panels.rows[t], t, in.grad_o + t * D, panels, dextra_logit);
    if (out.dextra_k) store_row(panels.dextra_k, head.scale, D, out.dextra_k);
    if (out.dextra_v) store_row(panels.dextra_v, 1.0f, D, out.dextra_v);
    if (out.dextra_logit) *out.dextra_logit = static_cast<float>(dextra_logit);
  }
  if (head.bias) panels.dbias.store(head.sizes.distances(), out.dbias);
  for (std::int64_t t = 0; t < T; ++t) store_row(panels.dq + t * width, head.scale, D, out.dq + t * D);
}

template <class Op, class E>
AttentionGradients attention_backward_of(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD,
                                         const Tensor& k_BGKD, const Tensor& v_BGKD, const Tensor& o_BHTD,
                                         const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config) {
  HeadSizes<E> sizes(q_BHTD, k_BGKD, config);
  AttentionGradients gradients = attention_check::empty_gradients(q_BHTD, k_BGKD, config);
  PartialGradients<E> partial(gradients, sizes);
  HeadTasks tasks(q_BHTD.dim(0) * q_BHTD.dim(1));
  ScratchBlocks<BackwardPanels<E>> panels(tasks.head_blocks(), sizes);
  ScratchBlocks<GradientTile<E>> pairs(tasks.task_blocks(), sizes);
  std::int64_t T = sizes.span.T;
  // f(head, its inputs, its scratch, n)
  auto stage = [&](std::int64_t count, auto f) {
    return HeadStage{count, [&, f](std::int64_t bh, std::int64_t n) {
                       Head<E> head(bh, sizes, q_BHTD, k_BGKD, config);
                       BackwardInputs<E> in{Head<E>::rows_of(do_BHTD, bh), Head<E>::rows_of(o_BHTD, bh),
                                            m_BHT.data<float>() + bh * T, S_BHT.data<float>() + bh * T};
                       f(head, in, panels[tasks.head_block(bh)], n);
                     }};
  };
  using In = const BackwardInputs<E>&;
  using Packs = BackwardPanels<E>&;
  tasks.run({stage(1, [&](const Head<E>& head, In, Packs of_head,
                          std::int64_t) { of_head.load(head, k_BGKD, v_BGKD, do_BHTD); }),
             stage(sizes.queries.tiles,
                   [&](const Head<E>& head, In in, Packs of_head, std::int64_t n) {
                     find_row_states(op, head, in, n * kTile, of_head, pairs[tasks.task_block()]);
                   }),
             stage(sizes.keys.tiles,
                   [&](const Head<E>& head, In, Packs of_head, std::int64_t n) {
                     backward_key_tile(op, head, n, of_head, pairs[tasks.task_block()], partial.of(head));
                   }),
             stage(1, [&](const Head<E>& head, In in, Packs of_head, std::int64_t) {
               finish_head(op, head, in, of_head, partial.of(head));
             })});
  partial.reduce();
  return gradients;
}

template <class Op>
AttentionGradients attention_backward(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGKD,
                                      const Tensor& v_BGKD, const Tensor& o_BHTD, const Tensor& m_BHT,
                                      const Tensor& S_BHT, const AttentionConfig& config) {
  return with_real<float, bf16>(q_BHTD.dtype(), [&](auto zero) {
    return attention_backward_of<Op, decltype(zero)>(op, do_BHTD, q_BHTD, k_BGKD, v_BGKD, o_BHTD, m_BHT, S_BHT, config);
  });
}

}  // namespace sink::cpu
