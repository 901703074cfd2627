// The statistics of attention.h on the CPU, f32 and bf16: scores by tiles as in attention_cpu.h, reduced row by row.
#pragma once

#include <cmath>
#include <vector>

#include "engine/ops/attention/attention_cpu.h"
#include "engine/ops/attention/attention_sums.h"

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
  // The slot's weight is no part of the mass.
  void add_slot(float a) {
    float absolute = std::abs(a);
    absolute_mass += absolute;
    a_log_a += absolute * log_fast(absolute);
  }
  // -sum_j p_j log p_j with p_j = |a_j| / divisor.
  double entropy(double divisor) const { return (absolute_mass * std::log(divisor) - a_log_a) / divisor; }
};

// What the angles between queries and keys need of the keys of a head. Key 0 is counted apart.
struct KeyNorms {
  float first, first_inverse;       // |k_0| and 1 / |k_0|
  float* inverse;                   // 1 / |k_j|, or 0 for a zero vector and for key 0
  std::vector<double> norm_before;  // sum of |k_l| over 0 < l < j

  template <class E>
  KeyNorms(const E* k, std::int64_t T, std::int64_t D, std::int64_t positions, Scratch& scratch)
      : inverse(scratch.take<float>(positions)), norm_before(static_cast<std::size_t>(T) + 1) {
    auto inverse_of = [](float norm) { return norm > 0 ? 1 / norm : 0; };
    first = std::sqrt(row_dot(k, k, D));
    first_inverse = inverse_of(first);
    std::fill_n(inverse, positions, 0.0f);
    for (std::int64_t j = 1; j < T; ++j) {
      float norm = std::sqrt(row_dot(k + j * D, k + j * D, D));
      inverse[j] = inverse_of(norm);
      norm_before[j + 1] = norm_before[j] + norm;
    }
  }
  // Of the keys query i sees, without key 0.
  double norm_sum(const KeyRange& range, std::int64_t i) const {
    std::int64_t prefix = std::min<std::int64_t>(range.prefix, static_cast<std::int64_t>(norm_before.size()) - 1);
    std::int64_t first_own = std::max(prefix, range.first(i));
    double own = i + 1 > first_own ? norm_before[i + 1] - norm_before[first_own] : 0;
    return norm_before[prefix] + own;
  }
};

// Adds the dot products and cosines of the pairs of one tile that have neither query 0 nor key 0; qk holds the
// products.
inline void add_angles(const Tile& tile, int queries, const float* qk, const float* q_inverse, const KeyNorms& keys,
                       AngleSums& sums) {
  const float* inverse = keys.inverse + tile.j0;
  int first_key = tile.j0 == 0 ? 1 : 0;
  FloatVector dots{}, cosines{};
  for (int i = tile.i0 == 0 ? 1 : 0; i < queries; ++i) {
    VisibleKeys visible = tile.visible(i);
    Span run = tile.key_runs[i / kRowBlock];
    for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
      FloatVector x{};
#pragma omp simd
      for (int n = 0; n < kVectorFloats; ++n) {
        int key = static_cast<int>(j) + n;
        x[n] = visible(key) & (key >= first_key) ? qk[i * kTile + key] : 0.0f;
      }
      dots += x;
      cosines += x * load_numbers(inverse + j) * q_inverse[i];
    }
  }
  sums.dot += sum_of(dots);
  sums.cosine += sum_of(cosines);
}

template <class Op, class E>
void attention_head_statistics(const Op op, const HeadTask& task, const E* q, const E* k, const float* m,
                               const float* S, const PackSizes<E>& sizes, std::int64_t K, HeadStatistics out,
                               Scratch scratch) {
  std::int64_t T = sizes.T, D = sizes.D;
  const auto* q_along = words_along(q, sizes, scratch);
  const auto* k_along = words_along(k, sizes, scratch);
  const auto* k_T = words_transposed<E>(k_along, sizes, scratch);
  DistanceTable bias = task.bias_table(sizes.positions, scratch);
  KeyNorms key_norms(k, T, D, sizes.positions, scratch);
  float* a = scratch.take<float>(kTile * kTile);
  float* first_weights = scratch.take<float>(kTile * K);
  AngleSums first_key, other_keys;

  for (std::int64_t i0 = 0; i0 < T; i0 += kTile) {
    int queries = static_cast<int>(std::min<std::int64_t>(kTile, T - i0));
    RowSums sums[kTile];
    float m_tile[kTile] = {}, inverse[kTile] = {}, q_inverse[kTile], slot_weight[kTile] = {};
    for (int i = 0; i < queries; ++i) {
      const E* q_i = q + (i0 + i) * D;
      m_tile[i] = m[i0 + i];
      inverse[i] = 1.0f / task.row(op, i0 + i, m[i0 + i], S[i0 + i]).z();
      float q_norm = std::sqrt(row_dot(q_i, q_i, D));
      q_inverse[i] = q_norm > 0 ? 1 / q_norm : 0;
      if (i0 + i > 0) {
        bool sees_first = task.range.sees(i0 + i, 0);
        double others = static_cast<double>(task.range.count(i0 + i, T) - (sees_first ? 1 : 0));
        other_keys.add(others, 0, q_norm * key_norms.norm_sum(task.range, i0 + i), 0);
        float qk = row_dot(q_i, k, D);
        if (sees_first) first_key.add(1, qk, q_norm * key_norms.first, qk * q_inverse[i] * key_norms.first_inverse);
      }
      if (!task.slot.present()) continue;
      float x = task.slot.score(q_i, task.scale, D) - m[i0 + i];
      AttentionRow row(op, m[i0 + i]);
      slot_weight[i] = row.post(row.g(x) * inverse[i]);
      sums[i].add_slot(slot_weight[i]);
    }
    std::memset(first_weights, 0, sizeof(float) * kTile * K);
    for (std::int64_t j0 = 0; j0 < T; j0 += kTile) {
      Tile tile;
      if (!tile.open(task.range, T, i0, j0)) continue;
      score_tile(tile, sizes, q_along + i0 * sizes.row_words, k_T + j0 * sizes.depth, a);
      add_angles(tile, queries, a, q_inverse, key_norms, other_keys);
      float scale = bias.present() ? 1.0f : task.scale;
      for (int block = 0; block * kRowBlock < tile.queries && bias.present(); ++block)
        add_bias(tile, block, task.scale, bias, a);
      weight_tile(op, tile, scale, m_tile, inverse, a);
      for (int i = 0; i < queries; ++i) {
        float* a_i = a + i * kTile;
        Span run = tile.key_runs[i / kRowBlock];
        sums[i].add(a_i, run);
        for (std::int64_t j = run.begin; j < std::min(run.end, K - j0); ++j) first_weights[i * K + j0 + j] = a_i[j];
      }
    }
    for (int i = 0; i < queries; ++i) {
      double divisor = proxy_divisor(op, sums[i].absolute_mass, 1.0 / inverse[i]);
      for (std::int64_t j = 0; j < K; ++j) {
        out.column_raw[j] += first_weights[i * K + j];
        out.column_proxy[j] += std::abs(first_weights[i * K + j]) / divisor;
      }
      out.slot_raw += slot_weight[i];
      out.slot_proxy += std::abs(slot_weight[i]) / divisor;
      out.row_mass += sums[i].mass / static_cast<double>(T);
      out.entropy += sums[i].entropy(divisor) / static_cast<double>(T);
    }
  }
  out.set_angles(first_key, other_keys);
}

template <class Op, class E>
void attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& m_BHT,
                          const Tensor& S_BHT, const AttentionConfig& config, AttentionStatistics& statistics) {
  std::int64_t T = q_BHTD.dim(2), D = q_BHTD.dim(3), K = statistics.column_raw_BHK.dim(2);
  PackSizes<E> sizes{T, D};
  Tensor scratch = thread_scratch(2 * sizes.along() + sizes.transposed() + kTile * kTile + kTile * K +
                                  2 * sizes.positions + DistanceTable::words(sizes.positions) + 128);
  parallel_for(q_BHTD.dim(0) * q_BHTD.dim(1), [&](std::int64_t bh) {
    HeadTask task(bh, q_BHTD, k_BGTD, config);
    attention_head_statistics<Op>(op, task, q_BHTD.data<E>() + bh * T * D, k_BGTD.data<E>() + task.bg * T * D,
                                  m_BHT.data<float>() + bh * T, S_BHT.data<float>() + bh * T, sizes, K,
                                  head_statistics(statistics, bh), scratch_of_thread(scratch));
  });
}

}  // namespace sink::cpu
