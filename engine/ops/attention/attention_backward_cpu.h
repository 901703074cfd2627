// The backward pass of attention_cpu.h: key tiles outside, query tiles inside, five products a pair of tiles. dk and dv
// of the key tile and dq of the whole head are summed in scratch, always in the same order.
#pragma once

#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/attention_cpu.h"

namespace sink::cpu {

// What the gradient of a score needs to know of its row.
struct RowState {
  float m;
  float inverse;  // 1 / z
  float zD;       // z' D
};

// ds = (g' dw - r' z' D) / z
template <class Op>
inline float score_gradient(const AttentionRow<Op, float>& f, float x, float dw, const RowState& row) {
  float dg = f.dg(x);
  if constexpr (!SumsApart<Op>) return dg * (dw - row.zD) * row.inverse;
  // Left to the compiler, which product is fused to the difference would differ between one copy of this and the next.
  return std::fma(dg, dw, -(f.dr(x) * row.zD)) * row.inverse;
}

// One block of queries of a tile: turns scores s into a, and da into ds, both in place.
template <class Op, bool kComplete>
[[gnu::flatten]] void score_rows_backward(const Op op, const Tile& tile, int block, float scale, const RowState* rows,
                                          float* s, float* da) {
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

// D_i += sum_j w_ij post'(w_ij) da_ij over one block of queries of a tile.
template <class Op, bool kComplete>
[[gnu::flatten]] void add_weighted_gradients(const Op op, const Tile& tile, int block, float scale,
                                             const RowState* rows, const float* s, const float* da, float* D) {
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
        float w = f.g(s[i * kTile + j + n] * scale - row.m) * row.inverse;
        float product = w * f.dpost(w) * da[i * kTile + j + n];
        w_dw[n] = kComplete || visible(static_cast<int>(j) + n) ? product : 0.0f;
      }
      sum += load_numbers(w_dw);
    }
    D[i] += sum_of(sum);
  }
}

// bf16: replaces each two rows of a tile by one row of words.
inline void pair_rows(const Tile& tile, float* x) {
  for (int i = 0; i < tile.queries; i += 2) {
    auto [begin, end] = tile.key_runs[i / kRowBlock];
    float* x_i = x + i * kTile + begin;
    round_pair(x_i, x_i + kTile, end - begin, reinterpret_cast<Words<bf16>::Word*>(x_i));
  }
}

// Where the gradients of one head go. dk and dv of a query head that shares its keys are kept in f32, to be added up;
// those of the bias and the slot are this sequence's part. Null where there is none.
template <class E>
struct HeadGradients {
  E *dq, *dk, *dv;
  float *wide_dk, *wide_dv;
  float *dbias, *dslot_k, *dslot_logit, *dslot_v;
};

// What the backward pass of a head reads.
template <class E>
struct HeadInputs {
  const E *grad_o, *q, *k, *v, *o;
  const float *m, *S;
};

// The slot's part of one row: adds to dq_i (without the scale) and to the gradients of the slot.
template <class Op, class E>
void slot_row_backward(const Op op, const HeadTask& task, const RowState& row, const E* q_i, const E* do_i,
                       std::int64_t D, float* dq_i, float* dslot_k, float* dslot_v, double& dslot_logit) {
  AttentionRow f(op, row.m);
  float x = task.slot.score(q_i, task.scale, D) - row.m;
  float w = f.g(x) * row.inverse;
  float da = task.slot.v ? row_dot(do_i, task.slot.v, D) : 0.0f;
  float ds = score_gradient(f, x, f.dpost(w) * da, row);
  dslot_logit += ds;
  if (task.slot.v) add_row(f.post(w), do_i, dslot_v, D);
  if (!task.slot.k) return;
  add_row(ds, task.slot.k, dq_i, D);
  add_row(ds, q_i, dslot_k, D);
}

template <class Op, class E>
void attention_head_backward(const Op op, const HeadTask& task, const HeadInputs<E>& in, const PackSizes<E>& sizes,
                             const HeadGradients<E>& out, Scratch scratch) {
  constexpr bool kBf16 = std::is_same_v<E, bf16>;
  constexpr int kPerWord = Words<E>::kPerWord;
  std::int64_t T = sizes.T, D = sizes.D, width = sizes.width;
  const auto *q_along = words_along(in.q, sizes, scratch), *do_along = words_along(in.grad_o, sizes, scratch),
             *k_along = words_along(in.k, sizes, scratch), *v_along = words_along(in.v, sizes, scratch);
  const auto *q_down = words_down(in.q, sizes, q_along, scratch),
             *do_down = words_down(in.grad_o, sizes, do_along, scratch),
             *k_down = words_down(in.k, sizes, k_along, scratch);
  const auto *k_T = words_transposed<E>(k_along, sizes, scratch), *v_T = words_transposed<E>(v_along, sizes, scratch);
  DistanceTable bias = task.bias_table(sizes.positions, scratch), dbias;
  if (task.bias) dbias = DistanceTable(sizes.positions, scratch);
  float* s = scratch.take<float>(kTile * kTile);   // then a
  float* da = scratch.take<float>(kTile * kTile);  // then ds
  E* ds_by_query = reinterpret_cast<E*>(kBf16 ? scratch.take<float>(kTile * kTile / 2) : da);
  float *dk_sum = scratch.take<float>(kTile * width), *dv_sum = scratch.take<float>(kTile * width);
  float *dslot_k = scratch.take<float>(width), *dslot_v = scratch.take<float>(width);
  float* dq_sum = scratch.take<float>(sizes.positions * width);
  std::memset(dq_sum, 0, sizeof(float) * sizes.positions * width);
  auto* rows = reinterpret_cast<RowState*>(scratch.take<float>(3 * sizes.positions));

  // Opens a tile and computes its scores and da; calls f(tile, factor that the scores lack).
  auto with_tile = [&](std::int64_t i0, std::int64_t j0, auto&& f) {
    Tile tile;
    if (!tile.open(task.range, T, i0, j0)) return;
    float scale = score_tile_with_bias<E>(tile, sizes, q_along + i0 * sizes.row_words, k_T + j0 * sizes.depth,
                                          task.scale, bias, s);
    score_tile(tile, sizes, do_along + i0 * sizes.row_words, v_T + j0 * sizes.depth, da);
    f(tile, scale);
  };

  // Queries of the padding have no weights: far below m, every g is 0 or finite, and they have no inverse.
  for (std::int64_t i = 0; i < sizes.positions; ++i) rows[i] = {std::numeric_limits<float>::max(), 0, 0};
  for (std::int64_t i = 0; i < T; ++i) rows[i] = {in.m[i], 1.0f / task.row(op, i, in.m[i], in.S[i]).z(), 0};
  auto set_zD = [&](std::int64_t i, float D_i) { rows[i].zD = task.row(op, i, in.m[i], in.S[i]).dz() * D_i; };
  if constexpr (HasPost<Op>) {
    for (std::int64_t i0 = 0; i0 < T; i0 += kTile) {
      float D_i[kTile] = {};
      for (std::int64_t j0 = 0; j0 < T; j0 += kTile) {
        with_tile(i0, j0, [&](const Tile& tile, float scale) {
          for (int block = 0; block * kRowBlock < tile.queries; ++block) {
            auto add = tile.complete ? add_weighted_gradients<Op, true> : add_weighted_gradients<Op, false>;
            add(op, tile, block, scale, rows + i0, s, da, D_i);
          }
        });
      }
      for (std::int64_t i = i0; i < std::min(T, i0 + kTile); ++i) {
        if (task.slot.v) {
          float x = task.slot.score(in.q + i * D, task.scale, D) - rows[i].m;
          AttentionRow f(op, rows[i].m);
          float w = f.g(x) * rows[i].inverse;
          D_i[i - i0] += w * f.dpost(w) * row_dot(in.grad_o + i * D, task.slot.v, D);
        }
        set_zD(i, D_i[i - i0]);
      }
    }
  } else {
    for (std::int64_t i = 0; i < T; ++i) set_zD(i, row_dot(in.grad_o + i * D, in.o + i * D, D));
  }

  for (std::int64_t j0 = 0; j0 < T; j0 += kTile) {
    std::memset(dk_sum, 0, sizeof(float) * kTile * width);
    std::memset(dv_sum, 0, sizeof(float) * kTile * width);
    for (std::int64_t i0 = 0; i0 < T; i0 += kTile) {
      with_tile(i0, j0, [&](const Tile& tile, float scale) {
        for (int block = 0; block * kRowBlock < tile.queries; ++block) {
          auto backward = tile.complete ? score_rows_backward<Op, true> : score_rows_backward<Op, false>;
          backward(op, tile, block, scale, rows + i0, s, da);
        }
        if (task.bias) add_bias_gradient(tile, da, dbias);
        if constexpr (kBf16) {
          round_rows(tile, da, ds_by_query);
          pair_rows(tile, s);
          pair_rows(tile, da);
        }
        mix_queries<E>(tile, sizes, s, do_down + i0 / kPerWord * width, dv_sum);
        mix_queries<E>(tile, sizes, da, q_down + i0 / kPerWord * width, dk_sum);
        mix_keys(tile, sizes, ds_by_query, k_down + j0 / kPerWord * width, dq_sum + i0 * width);
      });
    }
    for (std::int64_t j = 0; j < std::min<std::int64_t>(kTile, T - j0); ++j) {
      float *dk_j = dk_sum + j * width, *dv_j = dv_sum + j * width;
      std::int64_t place = (j0 + j) * D;
      if (out.wide_dk) {
        finish_row(dk_j, task.scale, D, out.wide_dk + place);
        finish_row(dv_j, 1.0f, D, out.wide_dv + place);
      } else {
        finish_row(dk_j, task.scale, D, out.dk + place);
        finish_row(dv_j, 1.0f, D, out.dv + place);
      }
    }
  }

  if (task.slot.present()) {
    double dslot_logit = 0;
    std::fill_n(dslot_k, width, 0.0f);
    std::fill_n(dslot_v, width, 0.0f);
    for (std::int64_t i = 0; i < T; ++i)
      slot_row_backward(op, task, rows[i], in.q + i * D, in.grad_o + i * D, D, dq_sum + i * width, dslot_k, dslot_v,
                        dslot_logit);
    if (out.dslot_k) finish_row(dslot_k, task.scale, D, out.dslot_k);
    if (out.dslot_v) finish_row(dslot_v, 1.0f, D, out.dslot_v);
    if (out.dslot_logit) *out.dslot_logit = static_cast<float>(dslot_logit);
  }
  if (task.bias) dbias.store(T, out.dbias);
  for (std::int64_t i = 0; i < T; ++i) finish_row(dq_sum + i * width, task.scale, D, out.dq + i * D);
}

// out_h = sum_b part_bh, the first X numbers of each row, in rising b.
inline void sum_over_sequences(const Tensor& part_BHX, Tensor& out) {
  if (!out.defined()) return;
  std::int64_t B = part_BHX.dim(0), H = part_BHX.dim(1), X = part_BHX.dim(2), stride = out.size() / H;
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t b = 0; b < B; ++b)
      add_row(1.0f, part_BHX.data<float>() + (b * H + h) * X, out.data<float>() + h * stride, X);
}

// out_g = sum of the heads of group g, in rising order.
template <class E>
void sum_over_groups(const Tensor& part_BHTD, Tensor& out_BGTD) {
  std::int64_t B = out_BGTD.dim(0), G = out_BGTD.dim(1), heads = part_BHTD.dim(1) / G;
  std::int64_t head_size = out_BGTD.dim(2) * out_BGTD.dim(3);
  parallel_for(B * G, [&](std::int64_t bg) {
    const float* part = part_BHTD.data<float>() + bg * heads * head_size;
    E* out = out_BGTD.data<E>() + bg * head_size;
    for (std::int64_t n = 0; n < head_size; ++n) {
      float sum = 0;
      for (std::int64_t h = 0; h < heads; ++h) sum += part[h * head_size + n];
      out[n] = E(sum);
    }
  });
}

template <class Op, class E>
AttentionGradients attention_backward(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGTD,
                                      const Tensor& v_BGTD, const Tensor& o_BHTD, const Tensor& m_BHT,
                                      const Tensor& S_BHT, const AttentionConfig& config) {
  std::int64_t B = q_BHTD.dim(0), H = q_BHTD.dim(1), T = q_BHTD.dim(2), D = q_BHTD.dim(3), G = k_BGTD.dim(1);
  AttentionGradients gradients = attention_check::empty_gradients(q_BHTD, k_BGTD, config, q_BHTD.dtype());
  // What heads or sequences add to together is first written apart, so that no order depends on threads.
  Tensor wide_dk, wide_dv;
  if (G < H) wide_dk = Tensor::empty(q_BHTD.shape()), wide_dv = Tensor::empty(q_BHTD.shape());
  auto part = [&](const Tensor& sum, std::int64_t X) { return sum.defined() ? Tensor::empty({B, H, X}) : Tensor(); };
  Tensor dbias = part(gradients.dbias_HT, T), dslot_k = part(gradients.dslot_k_HD, D),
         dslot_logit = part(gradients.dslot_logit_H, 1), dslot_v = part(gradients.dslot_v_HD, D);
  auto of_head = [](Tensor& x, std::int64_t bh, std::int64_t size) {
    return x.defined() ? x.data<float>() + bh * size : nullptr;
  };

  PackSizes<E> sizes{T, D};
  Tensor scratch = thread_scratch(4 * sizes.along() + 2 * sizes.transposed() + 3 * sizes.down() + 3 * kTile * kTile +
                                  (2 * kTile + 2) * sizes.width + sizes.positions * (sizes.width + 3) +
                                  2 * DistanceTable::words(sizes.positions) + 256);
  parallel_for(B * H, [&](std::int64_t bh) {
    HeadTask task(bh, q_BHTD, k_BGTD, config);
    std::int64_t head = bh * T * D, key_head = task.bg * T * D;
    HeadInputs<E> in{do_BHTD.data<E>() + head,    q_BHTD.data<E>() + head, k_BGTD.data<E>() + key_head,
                     v_BGTD.data<E>() + key_head, o_BHTD.data<E>() + head, m_BHT.data<float>() + bh * T,
                     S_BHT.data<float>() + bh * T};
    HeadGradients<E> out{gradients.dq_BHTD.data<E>() + head,
                         gradients.dk_BGTD.data<E>() + key_head,
                         gradients.dv_BGTD.data<E>() + key_head,
                         of_head(wide_dk, bh, T * D),
                         of_head(wide_dv, bh, T * D),
                         of_head(dbias, bh, T),
                         of_head(dslot_k, bh, D),
                         of_head(dslot_logit, bh, 1),
                         of_head(dslot_v, bh, D)};
    attention_head_backward<Op>(op, task, in, sizes, out, scratch_of_thread(scratch));
  });
  if (G < H) {
    sum_over_groups<E>(wide_dk, gradients.dk_BGTD);
    sum_over_groups<E>(wide_dv, gradients.dv_BGTD);
  }
  sum_over_sequences(dbias, gradients.dbias_HT);
  sum_over_sequences(dslot_k, gradients.dslot_k_HD);
  sum_over_sequences(dslot_logit, gradients.dslot_logit_H);
  sum_over_sequences(dslot_v, gradients.dslot_v_HD);
  return gradients;
}

}  // namespace sink::cpu
