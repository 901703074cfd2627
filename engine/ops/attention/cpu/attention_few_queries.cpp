#include "engine/ops/attention/cpu/attention_few_queries.h"

namespace sink::cpu {

void product_rows(const Tile& tile, const FewQueries& few, const float* k_rows, float* s) {
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

void mix_rows(const Tile& tile, const FewQueries& few, const float* v_rows, const float* s, std::int64_t width,
              float* o) {
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
