// The threshold of a row, for operations with Shift::threshold: m with sum_j g(s_j - m) = 1, and S, the sum of g'. The
// scores of 64 rows are stored, because Newton's method goes through them four to ten times.
#pragma once

#include <algorithm>

#include "engine/ops/attention/cpu/attention_tile.h"
#include "engine/ops/attention/op/attention_row.h"

namespace sink::cpu {

// Stores the scores of one block of queries of a tile in `rows`, those of invisible keys as lowest().
template <bool kComplete>
[[gnu::flatten, gnu::noinline]] inline void store_scores(const Tile& tile, int block, float scale, const float* s,
                                                         std::int64_t row_size, float* rows) {
  Span run = tile.key_runs[block];
  for (int i = block * kRowBlock; i < (block + 1) * kRowBlock; ++i) {
    VisibleKeys visible = tile.visible(i);
    float* row = rows + i * row_size;
    std::fill_n(row, kTile, std::numeric_limits<float>::lowest());
#pragma omp simd
    for (std::int64_t j = run.begin; j < run.end; ++j)
      if (kComplete || visible(static_cast<int>(j))) row[j] = s[i * kTile + j] * scale;
  }
}

// m and S of one row of scores, a multiple of kVectorFloats. extra: the score of the extra key, lowest() without one.
template <class Op>
[[gnu::flatten, gnu::noinline]] void find_threshold(const Op op, const float* s, std::int64_t size, float extra,
                                                    float& m, float& S) {
  m = op.threshold_start(std::max(extra, row_max<true>(s, {0, size}, {}, 1.0f)));
  for (int step = 0; step < kThresholdSteps; ++step) {
    AttentionRow row(op, m);
    FloatVector sums{}, slopes{};
    for (std::int64_t j = 0; j < size; j += kVectorFloats) {
      float g_n[kVectorFloats], dg_n[kVectorFloats];
#pragma omp simd
      for (int n = 0; n < kVectorFloats; ++n) {
        float x = s[j + n] - m;
        g_n[n] = row.g(x);
        dg_n[n] = row.dg(x);
      }
      sums += load_floats(g_n);
      slopes += load_floats(dg_n);
    }
    S = sum_of(slopes) + row.dg(extra - m);
    float next = m + (sum_of(sums) + row.g(extra - m) - 1.0f) / S;
    if (!(next > m)) return;
    m = next;
  }
}

}  // namespace sink::cpu
