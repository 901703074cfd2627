// The statistics of attention.h on the CPU, f32 and bf16: scores by tiles as in attention_cpu.h, reduced row by row.
#pragma once

#include <cmath>
#include <vector>

#include "engine/ops/attention/attention_cpu.h"

namespace sink::cpu {

// Sums over one row of weights. The proxy p = |a| / (A + eps), A = absolute_mass, is only known at the row's end:
//     -sum p log p = (A log(A + eps) - sum |a| log |a|) / (A + eps)
struct RowSums {
  double mass = 0, absolute_mass = 0, a_log_a = 0;

  // Adds weights [begin, end) of one tile; those that are not visible are zero.
  void add(const float* a, Span run) {
    float mass_part = 0, absolute_part = 0, log_part = 0;
#pragma omp simd reduction(+ : mass_part, absolute_part, log_part)
    for (std::int64_t j = run.begin; j < run.end; ++j) {
      float absolute = a[j] < 0 ? -a[j] : a[j];
      mass_part += a[j];
      absolute_part += absolute;
      log_part += absolute * log_fast(absolute);
    }
    mass += mass_part;
    absolute_mass += absolute_part;
    a_log_a += log_part;
  }
  // -sum_j p_j log p_j with p_j = |a_j| / divisor.
  double entropy(double divisor) const { return (absolute_mass * std::log(divisor) - a_log_a) / divisor; }
};

template <class Op, class E>
void attention_statistics(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& m_BHT, const Tensor& S_BHT,
                          const AttentionConfig& config, AttentionStatistics& statistics) {
  std::int64_t T = q_BHTD.dim(2), D = q_BHTD.dim(3), K = statistics.column_raw_BHK.dim(2);
  PackSizes<E> sizes{T, D};
  Tensor all_scratch = thread_scratch(2 * sizes.along() + sizes.transposed() + kTile * kTile + kTile * K + 128);
  float scale = static_cast<float>(config.scale);
  parallel_for(q_BHTD.dim(0) * q_BHTD.dim(1), [&](std::int64_t bh) {
    Scratch scratch = scratch_of_thread(all_scratch);
    const auto* q_along = words_along(q_BHTD.data<E>() + bh * T * D, sizes, scratch);
    const auto* k_along = words_along(k_BHTD.data<E>() + bh * T * D, sizes, scratch);
    const auto* k_T = words_transposed<E>(k_along, sizes, scratch);
    float* a = scratch.take<float>(kTile * kTile);
    float* first_weights = scratch.take<float>(kTile * K);
    const float* m = m_BHT.data<float>() + bh * T;
    const float* S = S_BHT.data<float>() + bh * T;
    double* raw_k = statistics.column_raw_BHK.data<double>() + bh * K;
    double* proxy_k = statistics.column_proxy_BHK.data<double>() + bh * K;
    double& row_mass = statistics.row_mass_BH.data<double>()[bh];
    double& entropy = statistics.entropy_BH.data<double>()[bh];

    for (std::int64_t i0 = 0; i0 < T; i0 += kTile) {
      std::int64_t queries = std::min<std::int64_t>(kTile, T - i0);
      RowSums sums[kTile];
      std::memset(first_weights, 0, sizeof(float) * kTile * K);
      for (std::int64_t j0 = 0; j0 < T; j0 += kTile) {
        Tile tile;
        if (!tile.open(config.range, T, i0, j0)) continue;
        score_tile(tile, sizes, q_along + i0 * sizes.row_words, k_T + j0 * sizes.depth, a);
        for (int i = 0; i < queries; ++i) {
          float* a_i = a + i * kTile;
          float m_i = m[i0 + i], inverse = 1.0f / Op::z(S[i0 + i]);
          VisibleKeys visible = tile.visible(i);
          Span run = tile.key_runs[i / kRowBlock];
#pragma omp simd
          for (std::int64_t j = run.begin; j < run.end; ++j) {
            float weight = Op::g(a_i[j] * scale - m_i) * inverse;
            a_i[j] = visible(static_cast<int>(j)) ? weight : 0.0f;
          }
          sums[i].add(a_i, run);
          for (std::int64_t j = run.begin; j < std::min(run.end, K - j0); ++j) first_weights[i * K + j0 + j] = a_i[j];
        }
      }
      for (int i = 0; i < queries; ++i) {
        double divisor = proxy_divisor<Op>(sums[i].absolute_mass);
        for (std::int64_t j = 0; j < K; ++j) {
          raw_k[j] += first_weights[i * K + j];
          proxy_k[j] += std::abs(first_weights[i * K + j]) / divisor;
        }
        row_mass += sums[i].mass / static_cast<double>(T);
        entropy += sums[i].entropy(divisor) / static_cast<double>(T);
      }
    }
  });
}

}  // namespace sink::cpu
