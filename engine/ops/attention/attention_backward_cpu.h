// The backward pass of attention_cpu.h: key tiles outside, query tiles inside, five products a pair of tiles. dk and dv
// of the key tile and dq of the whole head are summed in scratch, always in the same order.
#pragma once

#include "engine/ops/attention/attention_cpu.h"

namespace sink::cpu {

// What the gradient of a score needs to know of its row.
struct RowState {
  float m;
  float inverse;  // 1 / z(S)
  float zD;       // z'(S) D
};

// One block of queries of a tile: turns scores s into a, and da into ds, both in place.
template <class Op, bool kComplete>
void score_rows_backward(const Tile& tile, int block, float scale, const RowState* rows, float* s, float* da) {
  Span run = tile.key_runs[block];
  for (int i = block * kRowBlock; i < (block + 1) * kRowBlock; ++i) {
    RowState row = rows[i];
    VisibleKeys visible = tile.visible(i);
    float *s_i = s + i * kTile, *da_i = da + i * kTile;
    for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
#pragma omp simd
      for (int n = 0; n < kVectorFloats; ++n) {
        bool counts = kComplete || visible(static_cast<int>(j) + n);
        float x = s_i[j + n] * scale - row.m;
        float gx = Op::g(x);
        float a = gx * row.inverse;
        float ds = Op::dg(x, gx) * (da_i[j + n] - row.zD) * row.inverse;
        s_i[j + n] = counts ? a : 0.0f;
        da_i[j + n] = counts ? ds : 0.0f;
      }
    }
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

// x . y, in a fixed order.
template <class E>
float row_dot(const E* x, const E* y, std::int64_t D) {
  FloatVector sum{};
  std::int64_t d = 0;
  for (; d + kVectorFloats <= D; d += kVectorFloats) sum += load_numbers(x + d) * load_numbers(y + d);
  for (; d < D; ++d) sum[0] += static_cast<float>(x[d]) * static_cast<float>(y[d]);
  return sum_of(sum);
}

template <class Op, class E>
void attention_head_backward(const E* grad_o, const E* q, const E* k, const E* v, const E* o, const float* m,
                             const float* S, const PackSizes<E>& sizes, const AttentionConfig& config, E* dq, E* dk,
                             E* dv, Scratch scratch) {
  constexpr bool kBf16 = std::is_same_v<E, bf16>;
  constexpr int kPerWord = Words<E>::kPerWord;
  std::int64_t T = sizes.T, D = sizes.D, width = sizes.width;
  const auto *q_along = words_along(q, sizes, scratch), *do_along = words_along(grad_o, sizes, scratch),
             *k_along = words_along(k, sizes, scratch), *v_along = words_along(v, sizes, scratch);
  const auto *q_down = words_down(q, sizes, q_along, scratch), *do_down = words_down(grad_o, sizes, do_along, scratch),
             *k_down = words_down(k, sizes, k_along, scratch);
  const auto *k_T = words_transposed<E>(k_along, sizes, scratch), *v_T = words_transposed<E>(v_along, sizes, scratch);
  float* s = scratch.take<float>(kTile * kTile);   // then a
  float* da = scratch.take<float>(kTile * kTile);  // then ds
  E* ds_by_query = reinterpret_cast<E*>(kBf16 ? scratch.take<float>(kTile * kTile / 2) : da);
  float *dk_sum = scratch.take<float>(kTile * width), *dv_sum = scratch.take<float>(kTile * width);
  float* dq_sum = scratch.take<float>(sizes.positions * width);
  std::memset(dq_sum, 0, sizeof(float) * sizes.positions * width);
  float scale = static_cast<float>(config.scale);

  auto* rows = reinterpret_cast<RowState*>(scratch.take<float>(3 * sizes.positions));
  for (std::int64_t i = 0; i < sizes.positions; ++i) {
    rows[i] = {0, 0, 0};  // queries of the padding have no weights
    if (i >= T) continue;
    float D_i = row_dot(grad_o + i * D, o + i * D, D);
    rows[i] = {m[i], 1.0f / Op::z(S[i]), Op::dz(S[i]) * D_i};
  }

  for (std::int64_t j0 = 0; j0 < T; j0 += kTile) {
    std::memset(dk_sum, 0, sizeof(float) * kTile * width);
    std::memset(dv_sum, 0, sizeof(float) * kTile * width);
    for (std::int64_t i0 = 0; i0 < T; i0 += kTile) {
      Tile tile;
      if (!tile.open(config.range, T, i0, j0)) continue;
      score_tile(tile, sizes, q_along + i0 * sizes.row_words, k_T + j0 * sizes.depth, s);
      score_tile(tile, sizes, do_along + i0 * sizes.row_words, v_T + j0 * sizes.depth, da);
      for (int block = 0; block * kRowBlock < tile.queries; ++block) {
        auto backward = tile.complete ? score_rows_backward<Op, true> : score_rows_backward<Op, false>;
        backward(tile, block, scale, rows + i0, s, da);
      }
      if constexpr (kBf16) {
        round_rows(tile, da, ds_by_query);
        pair_rows(tile, s);
        pair_rows(tile, da);
      }
      mix_queries<E>(tile, sizes, s, do_down + i0 / kPerWord * width, dv_sum);
      mix_queries<E>(tile, sizes, da, q_down + i0 / kPerWord * width, dk_sum);
      mix_keys(tile, sizes, ds_by_query, k_down + j0 / kPerWord * width, dq_sum + i0 * width);
    }
    for (std::int64_t j = 0; j < std::min<std::int64_t>(kTile, T - j0); ++j) {
      finish_row(dk_sum + j * width, scale, D, dk + (j0 + j) * D);
      finish_row(dv_sum + j * width, 1.0f, D, dv + (j0 + j) * D);
    }
  }
  for (std::int64_t i = 0; i < T; ++i) finish_row(dq_sum + i * width, scale, D, dq + i * D);
}

template <class Op, class E>
void attention_backward(const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& v_BHTD,
                        const Tensor& o_BHTD, const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                        Tensor& dq_BHTD, Tensor& dk_BHTD, Tensor& dv_BHTD) {
  std::int64_t T = q_BHTD.dim(2), D = q_BHTD.dim(3);
  PackSizes<E> sizes{T, D};
  Tensor scratch = thread_scratch(4 * sizes.along() + 2 * sizes.transposed() + 3 * sizes.down() + 3 * kTile * kTile +
                                  2 * kTile * sizes.width + sizes.positions * (sizes.width + 3) + 256);
  parallel_for(q_BHTD.dim(0) * q_BHTD.dim(1), [&](std::int64_t bh) {
    std::int64_t head = bh * T * D;
    attention_head_backward<Op>(do_BHTD.data<E>() + head, q_BHTD.data<E>() + head, k_BHTD.data<E>() + head,
                                v_BHTD.data<E>() + head, o_BHTD.data<E>() + head, m_BHT.data<float>() + bh * T,
                                S_BHT.data<float>() + bh * T, sizes, config, dq_BHTD.data<E>() + head,
                                dk_BHTD.data<E>() + head, dv_BHTD.data<E>() + head, scratch_of_thread(scratch));
  });
}

}  // namespace sink::cpu
