// The sums of every key of attention.h on the CPU, f32 and bf16: the weights of kTile queries and all keys are kept
// until the sums of their rows are known, tile by tile.
#pragma once

#include "engine/ops/attention/statistics/attention_statistics_cpu.h"

namespace sink::cpu {

// Scratch of one head.
template <class E>
struct KeySumPanels : ScorePanels<E> {
  float* weights;                   // of a tile of queries: [n] is the n-th tile of keys that they see
  std::vector<std::int64_t> tiles;  // the first key of each

  KeySumPanels(const HeadSizes<E>& sizes, Scratch& scratch)
      : ScorePanels<E>(sizes, kByRow, kTransposed, scratch),
        weights(scratch.take<float>(sizes.keys.tiles * kTile * kTile)) {}
};

// Rows of one head's AttentionKeySums.
struct HeadKeySums {
  double *raw, *proxy, *largest, *by_distance;
};

// sum a_ij and sum |a_ij| over the keys of a tile, by query. Zeroes what key_runs leave out of it.
inline void add_row_sums(const Tile& tile, int queries, float* a, double* sum, double* absolute_sum) {
  for (int i = 0; i < queries; ++i) {
    float* a_i = a + i * kTile;
    const Span run = tile.key_runs[i / kRowBlock];
    std::fill(a_i, a_i + run.begin, 0.0f);
    std::fill(a_i + run.end, a_i + kTile, 0.0f);
    FloatVector sums{}, absolutes{};
    for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
      const FloatVector x = load_floats(a_i + j);
      sums += x;
      absolutes += x < 0 ? -x : x;
    }
    sum[i] += sum_of(sums);
    absolute_sum[i] += sum_of(absolutes);
  }
}

// Adds the weights a of the queries at positions i0 ... and the keys j0 ...; K keys.
inline void add_key_tile(const float* a, const float* inverse_sum, int queries, std::int64_t i0, std::int64_t j0,
                         std::int64_t K, const HeadKeySums& out) {
  alignas(64) float raw[kTile] = {}, proxy[kTile] = {}, largest[kTile] = {};
  alignas(64) float diagonals[2 * kTile] = {};  // [x]: pairs with i - j = i0 - j0 + kTile - 1 - x
  for (int i = 0; i < queries; ++i)
    for (int j = 0; j < kTile; ++j) {
      const float weight = a[i * kTile + j], p = std::abs(weight) * inverse_sum[i];
      raw[j] += weight;
      proxy[j] += p;
      largest[j] = larger(largest[j], p);
      diagonals[kTile - 1 - i + j] += p;
    }
  const std::int64_t keys = std::min<std::int64_t>(kTile, K - j0);
  for (std::int64_t j = 0; j < keys; ++j) {
    out.raw[j0 + j] += raw[j];
    out.proxy[j0 + j] += proxy[j];
    out.largest[j0 + j] = larger<double>(out.largest[j0 + j], largest[j]);
  }
  for (std::int64_t x = 0; x < 2 * kTile - 1; ++x)
    if (const std::int64_t distance = i0 - j0 + kTile - 1 - x; distance >= 0 && distance < K)
      out.by_distance[distance] += diagonals[x];
}

template <class Op, class E>
void attention_head_key_sums(const Op op, const Head<E>& head, const float* m, const float* S, KeySumPanels<E>& panels,
                             std::int64_t bh, AttentionKeySums& sums) {
  const std::int64_t K = head.span.K;
  auto row = [&](Tensor& x_BHK) { return x_BHK.data<double>() + bh * K; };
  const HeadKeySums out{row(sums.raw_BHK), row(sums.proxy_BHK), row(sums.largest_BHK), row(sums.by_distance_BHK)};
  for (std::int64_t t0 = 0; t0 < head.span.T; t0 += kTile) {
    const int queries = static_cast<int>(std::min<std::int64_t>(kTile, head.span.T - t0));
    KnownRows rows;
    double sum[kTile] = {}, absolute_sum[kTile] = {};
    for (int n = 0; n < queries; ++n) {
      rows.set(op, head, m, S, t0, n);
      absolute_sum[n] = std::abs(rows.extra_weight[n]);
    }
    panels.tiles.clear();
    for_each_key_tile(head.span, t0, [&](const Tile& tile) {
      float* a = panels.weights + static_cast<std::int64_t>(panels.tiles.size()) * kTile * kTile;
      panels.tiles.push_back(tile.j0);
      const float scale = score_tile_with_bias(tile, head, panels, a);
      weights_from_scores(op, tile, scale, rows.m, rows.inverse, a);
      add_row_sums(tile, queries, a, sum, absolute_sum);
    });
    float inverse_sum[kTile] = {};
    for (int n = 0; n < queries; ++n) {
      const double inverse = absolute_sum[n] == 0 ? 0 : 1 / absolute_sum[n];  // NaN stays
      inverse_sum[n] = static_cast<float>(inverse);
      sums.row_sum_BH.data<double>()[bh] += sum[n] / static_cast<double>(head.span.T);
      sums.extra_raw_BH.data<double>()[bh] += rows.extra_weight[n];
      sums.extra_proxy_BH.data<double>()[bh] += std::abs(rows.extra_weight[n]) * inverse;
    }
    for (std::size_t n = 0; n < panels.tiles.size(); ++n)
      add_key_tile(panels.weights + static_cast<std::int64_t>(n) * kTile * kTile, inverse_sum, queries,
                   head.position(t0), panels.tiles[n], K, out);
  }
}

template <class Op>
AttentionKeySums attention_key_sums(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                                    const Tensor& S_BHT, const AttentionConfig& config) {
  AttentionKeySums sums = attention_check::zero_key_sums(q_BHTD, k_BGKD);
  with_real<float, bf16>(q_BHTD.dtype(), [&](auto zero) {
    using E = decltype(zero);
    HeadSizes<E> sizes(q_BHTD, k_BGKD, config);
    ScratchBlocks<KeySumPanels<E>> panels(thread_count(), sizes);
    const std::int64_t T = sizes.span.T;
    parallel_for(q_BHTD.dim(0) * q_BHTD.dim(1), [&](std::int64_t bh) {
      Head<E> head(bh, sizes, q_BHTD, k_BGKD, config);
      KeySumPanels<E>& of_thread = panels[thread_index()];
      of_thread.load(head, k_BGKD);
      attention_head_key_sums(op, head, m_BHT.data<float>() + bh * T, S_BHT.data<float>() + bh * T, of_thread, bh,
                              sums);
    });
  });
  return sums;
}

}  // namespace sink::cpu
