// Few queries of f32 and many keys, as in token-by-token generation: keys and values are read in place, because copying
// them into panels costs more than their products.
#pragma once

#include "engine/ops/attention/cpu/attention_tile.h"

namespace sink::cpu {

constexpr std::int64_t kFewQueries = 4;

// One head: T queries, at most kFewQueries, and K keys of width D.
struct FewQueries {
  const float* q;
  std::int64_t T, K, D;
};

// q_i . k_j, and zeros in the rows after the last query. Sums in the order of score_tile().
[[gnu::noinline]] inline void product_rows(const Tile& tile, const FewQueries& few, const float* k_rows, float* s) {
  constexpr std::int64_t kSide = kVectorFloats;
  alignas(sizeof(FloatVector)) float k_T[kSide * kSide];  // a block of keys, transposed
  const std::int64_t D = few.D, queries = few.T - tile.t0;
  std::memset(s, 0, sizeof(float) * kTile * static_cast<std::size_t>(tile.queries));
  for (std::int64_t j = 0; j < tile.keys; j += kSide) {
    const float* k = k_rows + (tile.j0 + j) * D;
    const std::int64_t keys = std::min(kSide, few.K - (tile.j0 + j));
    FloatVector sums[kFewQueries] = {};
    for (std::int64_t d0 = 0; d0 < D; d0 += kSide) {
      const std::int64_t depth = std::min(kSide, D - d0);
      if (keys == kSide && depth == kSide) {
        transpose_block(reinterpret_cast<const std::uint32_t*>(k + d0), D, reinterpret_cast<std::uint32_t*>(k_T),
                        kSide);
      } else {
        for (std::int64_t d = 0; d < depth; ++d)
          for (std::int64_t n = 0; n < kSide; ++n) k_T[d * kSide + n] = n < keys ? k[n * D + d0 + d] : 0;
      }
      for (std::int64_t d = 0; d < depth; ++d) {
        const FloatVector k_d = load_floats(k_T + d * kSide);
        for (std::int64_t i = 0; i < queries; ++i)
          sums[i] = Words<float>::multiply_add(sums[i], few.q[(tile.t0 + i) * D + d0 + d], k_d);
      }
    }
    for (std::int64_t i = 0; i < queries; ++i) std::memcpy(s + i * kTile + j, &sums[i], sizeof(FloatVector));
  }
}

// o_i += sum_j weights_ij v_j in the order of mix_keys(); weights of invisible keys are 0.
[[gnu::noinline]] inline void mix_rows(const Tile& tile, const FewQueries& few, const float* v_rows, const float* s,
                                       std::int64_t width, float* o) {
  const std::int64_t D = few.D;
  for (std::int64_t i = 0; tile.t0 + i < few.T; ++i) {
    const Span run = tile.key_runs[i / kRowBlock];
    const std::int64_t end = std::min<std::int64_t>(run.end, few.K - tile.j0);
    float* o_i = o + i * width;
    for (std::int64_t j = run.begin; j < end; ++j) {
      const float* v = v_rows + (tile.j0 + j) * D;
      const float a = s[i * kTile + j];
#pragma omp simd
      for (std::int64_t d = 0; d < D; ++d) o_i[d] = std::fma(a, v[d], o_i[d]);
    }
  }
}

}  // namespace sink::cpu
