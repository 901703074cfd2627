// The statistics of attention.h on the CPU, f32 and bf16: scores by tile as in attention_cpu.h, reduced by row.
#pragma once

#include <cmath>
#include <vector>

#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/cpu/attention_cpu.h"
#include "engine/ops/attention/statistics/attention_sums.h"

namespace sink::cpu {

// Sums over one row of weights. The proxies p = |a| / (A + eps), A = absolute_sum, are known only after the row:
//     -sum p log p = (A log(A + eps) - sum |a| log |a|) / (A + eps)
struct RowSums {
  double sum = 0, absolute_sum = 0, a_log_a = 0;
  double valued = 0;  // sum |a_j| |v_j|, including the extra key

  // Adds the weights of `run` in one tile, with the norms of their values. Invisible weights are zero.
  void add(const float* a, const float* v_norm, Span run) {
    float sum_part = 0, absolute_part = 0, log_part = 0, valued_part = 0;
#pragma omp simd reduction(+ : sum_part, absolute_part, log_part, valued_part)
    for (std::int64_t j = run.begin; j < run.end; ++j) {
      float absolute = a[j] < 0 ? -a[j] : a[j];
      sum_part += a[j];
      absolute_part += absolute;
      log_part += absolute * log_fast(absolute);
      valued_part += absolute * v_norm[j];
    }
    sum += sum_part;
    absolute_sum += absolute_part;
    a_log_a += log_part;
    valued += valued_part;
  }
  // The extra key is not part of `sum`.
  void add_extra(float a, float v_norm) {
    float absolute = std::abs(a);
    valued += absolute * v_norm;
    absolute_sum += absolute;
    a_log_a += absolute * log_fast(absolute);
  }
  // -sum_j p_j log p_j with p_j = |a_j| / divisor.
  double entropy(double divisor) const { return (absolute_sum * std::log(divisor) - a_log_a) / divisor; }
};

// The norms of the keys of a head, for the angles between queries and keys. Key 0 is counted separately.
struct KeyNorms {
  std::int64_t padded;
  float first = 0, first_inverse = 0;  // |k_0| and 1 / |k_0|
  float* inverse;                      // 1 / |k_j|, or 0 for a zero vector and for key 0
  std::vector<double> norm_before;     // sum of |k_l| over 0 < l < j

  KeyNorms(std::int64_t padded_keys, Scratch& scratch)
      : padded(padded_keys), inverse(scratch.take<float>(padded_keys)) {}
  template <class E>
  void load(const E* k, std::int64_t K, std::int64_t D) {
    auto inverse_of = [](float norm) { return norm > 0 ? 1 / norm : 0; };
    first = std::sqrt(row_dot(k, k, D));
    first_inverse = inverse_of(first);
    std::fill_n(inverse, padded, 0.0f);
    norm_before.assign(static_cast<std::size_t>(K) + 1, 0);
    for (std::int64_t j = 1; j < K; ++j) {
      float norm = std::sqrt(row_dot(k + j * D, k + j * D, D));
      inverse[j] = inverse_of(norm);
      norm_before[j + 1] = norm_before[j] + norm;
    }
  }
  // The sum of norms of the keys that query i sees, without key 0.
  double norm_sum(const KeyRange& range, std::int64_t i) const {
    std::int64_t prefix = std::min<std::int64_t>(range.prefix, static_cast<std::int64_t>(norm_before.size()) - 1);
    std::int64_t first_own = std::max(prefix, range.first(i));
    double own = i + 1 > first_own ? norm_before[i + 1] - norm_before[first_own] : 0;
    return norm_before[prefix] + own;
  }
};

// |v_j|, 0 for padding.
struct ValueNorms {
  std::int64_t padded;
  float* norm;

  ValueNorms(std::int64_t padded_keys, Scratch& scratch)
      : padded(padded_keys), norm(scratch.take<float>(padded_keys)) {}
  template <class E>
  void load(const E* v, std::int64_t K, std::int64_t D) {
    std::fill_n(norm, padded, 0.0f);
    for (std::int64_t j = 0; j < K; ++j) norm[j] = std::sqrt(row_dot(v + j * D, v + j * D, D));
  }
};

// The dot products qk of kVectorFloats keys from j on, zero where the query does not see the key and for key 0.
template <bool kComplete>
FloatVector visible_products(const float* qk, VisibleKeys visible, int j, int first_key) {
  if constexpr (kComplete) return load_floats(qk);
  float x[kVectorFloats];
#pragma omp simd
  for (int n = 0; n < kVectorFloats; ++n) x[n] = visible(j + n) & (j + n >= first_key) ? qk[n] : 0.0f;
  return load_floats(x);
}

// Adds the dot products qk and the cosines of the pairs of one tile, without query 0 and key 0.
template <bool kComplete>
void add_angles(const Tile& tile, int queries, const float* qk, const float* q_inverse, const KeyNorms& keys,
                AngleSums& sums) {
  const float* inverse = keys.inverse + tile.j0;
  int first_key = tile.j0 == 0 ? 1 : 0;
  FloatVector dots{}, cosines{};
  for (int i = tile.i0 == 0 ? 1 : 0; i < queries; ++i) {
    VisibleKeys visible = tile.visible(i);
    Span run = tile.key_runs[i / kRowBlock];
    for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
      FloatVector x = visible_products<kComplete>(qk + i * kTile + j, visible, static_cast<int>(j), first_key);
      dots += x;
      cosines += x * load_floats(inverse + j) * q_inverse[i];
    }
  }
  sums.dot += sum_of(dots);
  sums.cosine += sum_of(cosines);
}

// Scratch of one head.
template <class E>
struct StatisticsPanels : ScorePanels<E> {
  KeyNorms keys;
  ValueNorms values;
  float *a, *first_weights;  // the weights of a tile; the weights of its queries and the first X keys

  StatisticsPanels(const HeadSizes<E>& sizes, std::int64_t X, Scratch& scratch)
      : ScorePanels<E>(sizes, kByRow, kTransposed, scratch),
        keys(sizes.keys.padded, scratch),
        values(sizes.keys.padded, scratch),
        a(scratch.take<float>(kTile * kTile)),
        first_weights(scratch.take<float>(kTile * X)) {}
};

// What the weights of kTile queries need: m, 1 / z, and the extra key's weight, 0 without one.
struct KnownRows {
  float m[kTile] = {}, inverse[kTile] = {}, extra_weight[kTile] = {};

  // Of query n of those from t0 on.
  template <class Op, class E>
  void set(const Op op, const Head<E>& head, const float* m_T, const float* S_T, std::int64_t t0, int n) {
    const std::int64_t t = t0 + n;
    m[n] = m_T[t];
    inverse[n] = 1.0f / head.row(op, t, m_T[t], S_T[t]).z();
    if (!head.extra.present()) return;
    AttentionRow row(op, m_T[t]);
    extra_weight[n] = row.post(row.g(head.extra_score(t) - m_T[t]) * inverse[n]);
  }
};

// The state of kTile queries before their weights are computed.
struct StatisticsRows : KnownRows {
  int queries;
  RowSums sums[kTile];
  float q_inverse[kTile];
};

// 1 / z, 1 / |q_i| and the extra key's weight of the queries t0 ...; adds their norms to the angles.
template <class Op, class E>
void start_statistics(const Op op, const Head<E>& head, const float* m, const float* S, const E* first_k,
                      const KeyNorms& keys, std::int64_t t0, StatisticsRows& rows, AngleSums& first_key,
                      AngleSums& other_keys) {
  const AttentionSpan& span = head.span;
  std::int64_t D = head.sizes.D();
  float extra_v_norm = head.extra.v ? std::sqrt(row_dot(head.extra.v, head.extra.v, D)) : 0;
  rows.queries = static_cast<int>(std::min<std::int64_t>(kTile, span.T - t0));
  for (int n = 0; n < rows.queries; ++n) {
    std::int64_t t = t0 + n, i = head.position(t);
    const E* q_i = head.q_row(t);
    rows.set(op, head, m, S, t0, n);
    float q_norm = std::sqrt(row_dot(q_i, q_i, D));
    rows.q_inverse[n] = q_norm > 0 ? 1 / q_norm : 0;
    if (i > 0) {
      bool sees_first = span.range.sees(i, 0);
      double others = static_cast<double>(span.range.count(i, span.K) - (sees_first ? 1 : 0));
      other_keys.add(others, 0, q_norm * keys.norm_sum(span.range, i), 0);
      float qk = row_dot(q_i, first_k, D);
      if (sees_first) first_key.add(1, qk, q_norm * keys.first, qk * rows.q_inverse[n] * keys.first_inverse);
    }
    if (head.extra.present()) rows.sums[n].add_extra(rows.extra_weight[n], extra_v_norm);
  }
}

// Adds the finished rows, of queries t0 ..., to the sums of the head.
template <class Op, class E>
void add_rows(const Op op, const Head<E>& head, const StatisticsRows& rows, const StatisticsPanels<E>& panels,
              std::int64_t X, std::int64_t t0, FirstShare& share, HeadStatistics& out) {
  const float* first_weights = panels.first_weights;
  const std::int64_t T = head.span.T;
  for (int i = 0; i < rows.queries; ++i) {
    double divisor = proxy_divisor(op, rows.sums[i].absolute_sum, 1.0 / rows.inverse[i]);
    for (std::int64_t j = 0; j < X; ++j) {
      out.column_raw[j] += first_weights[i * X + j];
      out.column_proxy[j] += std::abs(first_weights[i * X + j]) / divisor;
    }
    out.extra_raw += rows.extra_weight[i];
    out.extra_proxy += std::abs(rows.extra_weight[i]) / divisor;
    out.row_sum += rows.sums[i].sum / static_cast<double>(T);
    out.entropy += rows.sums[i].entropy(divisor) / static_cast<double>(T);
    std::int64_t position = head.position(t0 + i);
    if (position > 0 && head.span.range.sees(position, 0))
      share.add(std::abs(first_weights[i * X]) * panels.values.norm[0], rows.sums[i].valued);
  }
}

template <class Op, class E>
void attention_head_statistics(const Op op, const Head<E>& head, const E* k, const float* m, const float* S,
                               std::int64_t X, StatisticsPanels<E>& panels, HeadStatistics out) {
  std::int64_t T = head.span.T;
  AngleSums first_key, other_keys;
  FirstShare share;
  for (std::int64_t t0 = 0; t0 < T; t0 += kTile) {
    StatisticsRows rows;
    start_statistics(op, head, m, S, k, panels.keys, t0, rows, first_key, other_keys);
    std::memset(panels.first_weights, 0, sizeof(float) * kTile * X);
    for_each_key_tile(head.span, t0, [&](const Tile& tile) {
      float* a = panels.a;
      product_tile(tile, head.sizes.queries, panels.q, panels.k, a);
      bool complete = tile.complete && tile.j0 > 0;
      (complete ? add_angles<true> : add_angles<false>)(tile, rows.queries, a, rows.q_inverse, panels.keys, other_keys);
      for (int block = 0; block * kRowBlock < tile.queries && panels.bias.present(); ++block)
        add_bias(tile, block, head.scale, panels.bias, a);
      weights_from_scores(op, tile, panels.bias.present() ? 1.0f : head.scale, rows.m, rows.inverse, a);
      for (int i = 0; i < rows.queries; ++i) {
        float* a_i = a + i * kTile;
        Span run = tile.key_runs[i / kRowBlock];
        rows.sums[i].add(a_i, panels.values.norm + tile.j0, run);
        for (std::int64_t j = run.begin; j < std::min(run.end, X - tile.j0); ++j)
          panels.first_weights[i * X + tile.j0 + j] = a_i[j];
      }
    });
    add_rows(op, head, rows, panels, X, t0, share, out);
  }
  out.set_angles(first_key, other_keys);
  out.value_share = share.mean();
}

template <class Op, class E>
void attention_statistics_of(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                             const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                             AttentionStatistics& statistics) {
  HeadSizes<E> sizes(q_BHTD, k_BGKD, config);
  std::int64_t T = sizes.span.T, X = statistics.column_raw_BHX.dim(2);
  ScratchBlocks<StatisticsPanels<E>> panels(thread_count(), sizes, X);
  parallel_for(q_BHTD.dim(0) * q_BHTD.dim(1), [&](std::int64_t bh) {
    Head<E> head(bh, sizes, q_BHTD, k_BGKD, config);
    const E* k = Head<E>::rows_of(k_BGKD, head.bg);
    StatisticsPanels<E>& of_thread = panels[thread_index()];
    of_thread.load(head, k_BGKD);
    of_thread.keys.load(k, sizes.span.K, sizes.D());
    of_thread.values.load(Head<E>::rows_of(v_BGKD, head.bg), sizes.span.K, sizes.D());
    attention_head_statistics(op, head, k, m_BHT.data<float>() + bh * T, S_BHT.data<float>() + bh * T, X, of_thread,
                              head_statistics(statistics, bh));
  });
}

template <class Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                                         const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                                         std::int64_t n_columns) {
  AttentionStatistics statistics = attention_check::zero_statistics(q_BHTD, n_columns);
  with_real<float, bf16>(q_BHTD.dtype(), [&](auto zero) {
    attention_statistics_of<Op, decltype(zero)>(op, q_BHTD, k_BGKD, v_BGKD, m_BHT, S_BHT, config, statistics);
  });
  return statistics;
}

}  // namespace sink::cpu
