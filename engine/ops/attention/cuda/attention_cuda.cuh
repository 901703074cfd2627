// What attention's CUDA kernels share: their arguments, one query with one key, and a row's weights.
//
// Scores are computed where they are needed and never stored: memory is O(T). In F32 a warp has one row of the map, or
// one column of it; its lanes have neighbouring keys, or queries, and each computes whole scores. Then all lanes add up
// vectors, each lane its own coordinates. In BF16 the tensor cores compute tiles of the map (attention_tiles_cuda.cuh);
// heads whose width does not fit them are converted to F32.
#pragma once

#include "engine/cuda/fast_float.cuh"
#include "engine/cuda/warp.cuh"
#include "engine/ops/attention/cuda/attention_cuda.h"

namespace sink::cuda {

template <class X>
struct AttentionArguments {
  std::int64_t B, H, G, T, K, D;
  const X *q_BHTD, *k_BGKD, *v_BGKD;
  const float *bias_HT, *extra_k_HD, *extra_logit_H, *extra_v_HD;  // null where there is none
  std::int64_t bias_columns;
  float scale;
  KeyRange range;
  const std::int32_t* document_starts_BK;  // null where there is none
  std::int64_t first_position;

  __device__ bool has_extra_key() const { return extra_k_HD || extra_logit_H; }
  // The keys that queries of sequence b see.
  __device__ KeyRange range_of(std::int64_t b) const {
    KeyRange of_sequence = range;
    if (document_starts_BK) of_sequence.document_starts = document_starts_BK + b * range.positions;
    return of_sequence;
  }
};

inline const float* data_or_null(const Tensor& x) { return x.defined() ? x.device_data<float>() : nullptr; }

template <class X>
AttentionArguments<X> attention_arguments(const Tensor& q, const Tensor& k, const Tensor& v,
                                          const AttentionConfig& config) {
  const Tensor& starts = config.document_starts_BK;
  KeyRange range = config.range;
  if (starts.defined()) range.positions = starts.dim(1);
  return {.B = q.dim(0),
          .H = q.dim(1),
          .G = k.dim(1),
          .T = q.dim(2),
          .K = k.dim(2),
          .D = q.dim(3),
          .q_BHTD = q.device_data<X>(),
          .k_BGKD = k.device_data<X>(),
          .v_BGKD = v.device_data<X>(),
          .bias_HT = data_or_null(config.bias_HT),
          .extra_k_HD = data_or_null(config.extra_key.k_HD),
          .extra_logit_H = data_or_null(config.extra_key.logit_H),
          .extra_v_HD = data_or_null(config.extra_key.v_HD),
          .bias_columns = config.bias_HT.defined() ? config.bias_HT.dim(1) : 0,
          .scale = static_cast<float>(config.scale),
          .range = range,
          .document_starts_BK = starts.defined() ? starts.device_data<std::int32_t>() : nullptr,
          .first_position = config.first_position};
}

__device__ inline float dot(const float* x_D, const float* y_D, std::int64_t D) {
  float sum = 0;
  for (std::int64_t d = 0; d < D; ++d) sum += x_D[d] * y_D[d];
  return sum;
}

// One query: row `bht` of q, of head h and position i.
struct AttentionQuery {
  const AttentionArguments<float>& a;
  std::int64_t bht, h, i, first_key_row;  // the last: of k and v, where its key head begins
  const float* q_D;
  KeyRange range;

  __device__ AttentionQuery(const AttentionArguments<float>& a, std::int64_t bht)
      : a(a),
        bht(bht),
        h(bht / a.T % a.H),
        i(a.first_position + bht % a.T),
        first_key_row((bht / a.T / a.H * a.G + h / (a.H / a.G)) * a.K),
        q_D(a.q_BHTD + bht * a.D),
        range(a.range_of(bht / a.T / a.H)) {}

  // How many keys it sees, and which is the n-th of them.
  __device__ std::int64_t keys() const { return range.count(i, a.K); }
  __device__ std::int64_t key(std::int64_t n) const {
    std::int64_t prefix = range.prefix < a.K ? range.prefix : a.K, first = range.first(i);
    return n < prefix ? n : n - prefix + (first > prefix ? first : prefix);
  }
  __device__ const float* k_D(std::int64_t j) const { return a.k_BGKD + (first_key_row + j) * a.D; }
  __device__ const float* v_D(std::int64_t j) const { return a.v_BGKD + (first_key_row + j) * a.D; }

  // s_ij = scale q_i . k_j + bias_h[max(0, i - j)]
  __device__ float score(std::int64_t j) const {
    float s = a.scale * dot(q_D, k_D(j), a.D);
    return a.bias_HT ? s + a.bias_HT[h * a.bias_columns + (i > j ? i - j : 0)] : s;
  }
  // The score of the extra key, where there is one.
  __device__ float extra_score() const {
    return a.extra_logit_H ? a.extra_logit_H[h] : a.scale * dot(q_D, a.extra_k_HD + h * a.D, a.D);
  }
};

// What backward reads of the forward pass, and one number per query that its kernels hand on.
template <class X>
struct AttentionBackward {
  AttentionArguments<X> a;
  const X *do_BHTD, *o_BHTD;
  const float *m_BHT, *S_BHT;
  float* D_BHT;
};

// A row of the map that a forward pass has made: its weights and, for a backward pass, what scores get of it.
template <class Op>
struct AttentionWeights {
  AttentionRow<Op, FastFloat> row;
  FastFloat inverse_z;

  __device__ AttentionWeights(const Op& op, FastFloat m, FastFloat inverse_z) : row(op, m), inverse_z(inverse_z) {}
  __device__ AttentionWeights(const Op& op, float m, float S, std::int64_t keys)
      : row(op, m, S, static_cast<float>(keys)), inverse_z(FastFloat(1.0f) / row.z()) {}

  __device__ float z() const { return float(row.z()); }
  __device__ FastFloat w(FastFloat s) const { return row.g(s - row.m) * inverse_z; }
  __device__ float a(float s) const { return float(row.post(w(s))); }
  // What a weight gets of the gradient da of what `post` makes of it.
  __device__ FastFloat dw(FastFloat s, FastFloat da) const { return HasPost<Op> ? row.dpost(w(s)) * da : da; }
  // z' D, which ds needs; of a row that knows its S.
  __device__ float through_sum(float D) const { return float(row.dz() * D); }
  // ds = (g' dw - r' z' D) / z
  __device__ float ds(float s, float da, float through_sum) const {
    FastFloat x = s - row.m, gradient = row.dg(x) * dw(s, da);
    if constexpr (DividesBySum<Op>) gradient = gradient - row.dr(x) * through_sum;
    return float(gradient * inverse_z);
  }
};

// For every warp of a block: a vector of D sums, each coordinate a lane's own, and a number of each lane that all read.
struct WarpSums {
  float *sums_D, *of_lanes;
  std::int64_t D;

  // The n-th of `vectors` per warp.
  __device__ WarpSums(int n, int vectors, std::int64_t D) : D(D) {
    std::int64_t warp = threadIdx.x / kWarp;
    float* own = shared_memory<float>() + warp * vectors * (D + kWarp) + n * (D + kWarp);
    sums_D = own;
    of_lanes = own + D;
    for (std::int64_t d = lane_of_thread(); d < D; d += kWarp) sums_D[d] = 0;
  }
  static std::size_t bytes(int vectors, std::int64_t D) {
    return sizeof(float) * static_cast<std::size_t>(kRowThreads / kWarp * vectors * (D + kWarp));
  }

  // sums += sum over n < count of (lane n's number) x_n; x_of(n) is a row of D. Between two sync_warp.
  template <class RowOf>
  __device__ void add(int count, RowOf x_of) {
    for (int n = 0; n < count; ++n) {
      const float* x_D = x_of(n);
      for (std::int64_t d = lane_of_thread(); d < D; d += kWarp) sums_D[d] += of_lanes[n] * x_D[d];
    }
  }
  __device__ void write(float factor, float* y_D) const {
    for (std::int64_t d = lane_of_thread(); d < D; d += kWarp) y_D[d] = factor * sums_D[d];
  }
};

}  // namespace sink::cuda
