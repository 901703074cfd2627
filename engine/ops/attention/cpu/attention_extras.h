// The bias by distance and the extra key in the CPU attention kernels.
#pragma once

#include <algorithm>
#include <limits>

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/cpu/attention_tile.h"
#include "engine/ops/attention/op/attention_row.h"

namespace sink::cpu {

// x . y, in a fixed order.
template <class X, class Y>
float row_dot(const X* x, const Y* y, std::int64_t D) {
  FloatVector sum{};
  std::int64_t d = 0;
  for (; d + kVectorFloats <= D; d += kVectorFloats) sum = fma_floats(load_floats(x + d), load_floats(y + d), sum);
  for (; d < D; ++d) sum[0] = std::fma(static_cast<float>(x[d]), static_cast<float>(y[d]), sum[0]);
  return sum_of(sum);
}

// y += factor x
template <class X>
void add_row(float factor, const X* x, float* y, std::int64_t D) {
  for (std::int64_t d = 0; d < D; ++d) y[d] = std::fma(factor, static_cast<float>(x[d]), y[d]);
}

// One value for each distance max(0, i - j) of one head, in descending order of distance and with distance 0 repeated
// at the end, so that the values of query i and ascending keys j are contiguous: row(i)[j].
class DistanceTable {
 public:
  // Query positions i < queries and keys j < keys, both padded; absent if not `present`.
  DistanceTable(bool present, std::int64_t queries, std::int64_t keys, Scratch& scratch)
      : queries_(queries), keys_(keys), backwards_(present ? scratch.take<float>(queries + keys) : nullptr) {}

  bool present() const { return backwards_ != nullptr; }
  float* row(std::int64_t i) const { return backwards_ + queries_ - 1 - i; }
  void clear() { std::fill_n(backwards_, queries_ + keys_, 0.0f); }
  void load(const float* of_distance, std::int64_t distances) {
    clear();
    for (std::int64_t d = 0; d < distances; ++d) row(d)[0] = of_distance[d];
    std::fill_n(row(0), keys_, of_distance[0]);
  }
  // Sums the values that were added at row(i)[j].
  void store(std::int64_t distances, float* of_distance) const {
    for (std::int64_t d = 1; d < distances; ++d) of_distance[d] = row(d)[0];
    of_distance[0] = 0;
    for (std::int64_t j = 0; j < keys_; ++j) of_distance[0] += row(0)[j];
  }

 private:
  std::int64_t queries_, keys_;
  float* backwards_;
};

// s = scale s + bias, for one block of queries of a tile.
inline void add_bias(const Tile& tile, int block, float scale, const DistanceTable& bias, float* s) {
  Span run = tile.key_runs[block];
  for (int i = block * kRowBlock; i < (block + 1) * kRowBlock; ++i) {
    const float* bias_i = bias.row(tile.i0 + i) + tile.j0;
    float* s_i = s + i * kTile;
#pragma omp simd
    for (std::int64_t j = run.begin; j < run.end; ++j) s_i[j] = std::fma(s_i[j], scale, bias_i[j]);
  }
}

// dbias += ds
inline void add_bias_gradient(const Tile& tile, const float* ds, const DistanceTable& dbias) {
  for (int i = 0; i < tile.queries; ++i) {
    Span run = tile.key_runs[i / kRowBlock];
    float* dbias_i = dbias.row(tile.i0 + i) + tile.j0;
    const float* ds_i = ds + i * kTile;
#pragma omp simd
    for (std::int64_t j = run.begin; j < run.end; ++j) dbias_i[j] += ds_i[j];
  }
}

// The extra key of one head; pointers are null where there is none.
struct HeadExtraKey {
  const float *k, *logit, *v;

  HeadExtraKey(const AttentionExtraKey& extra, std::int64_t h, std::int64_t D)
      : k(extra.k_HD.defined() ? extra.k_HD.data<float>() + h * D : nullptr),
        logit(extra.logit_H.defined() ? extra.logit_H.data<float>() + h : nullptr),
        v(extra.v_HD.defined() ? extra.v_HD.data<float>() + h * D : nullptr) {}
  bool present() const { return k || logit; }
  template <class E>
  float score(const E* q_i, float scale, std::int64_t D) const {
    return logit ? *logit : scale * row_dot(q_i, k, D);
  }
};

}  // namespace sink::cpu
