// What the CUDA kernels of attention share: their arguments, the scores of one query, and the weights of one row.
//
// Scores are recomputed where they are needed and never stored: memory is O(T). In F32 a warp has one query (or key);
// each of its lanes computes whole scores with neighbouring keys (queries). Then the lanes add up weighted vectors
// together, each lane its own elements. In BF16 the tensor cores compute tiles of scores (attention_tiles_cuda.cuh);
// heads whose width does not fit are converted to F32.
#pragma once

#include "engine/cuda/fast_float.cuh"
#include "engine/cuda/warp.cuh"
#include "engine/ops/attention/cuda/attention_cuda.h"
#include "engine/ops/attention/op/attention_row.h"

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
  int queries_per_key_head;  // H / G

  __device__ bool has_extra_key() const { return extra_k_HD || extra_logit_H; }
  // The keys that queries of sequence b see.
  __device__ KeyRange range_of(std::int64_t b) const {
    KeyRange of_sequence = range;
    if (document_starts_BK) of_sequence.document_starts = document_starts_BK + b * range.positions;
    return of_sequence;
  }
};

// Whether an operation has the kernels in BF16. A threshold has none: it needs all scores of a row several times.
template <class Op>
concept HasTiles = !ShiftsByThreshold<Op>;

template <class X>
AttentionArguments<X> attention_arguments(const Tensor& q, const Tensor& k, const Tensor& v,
                                          const AttentionConfig& config) {
  const Tensor& starts = config.document_starts_BK;
  KeyRange range = config.range;
  range.prefix = std::min(range.prefix, k.dim(2));  // no larger than the number of keys, which fits an int in tiles
  range.window = std::min(range.window, k.dim(2));
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
          .document_starts_BK = data_or_null<std::int32_t>(starts),
          .first_position = config.first_position,
          .queries_per_key_head = static_cast<int>(q.dim(1) / k.dim(1))};
}

__device__ inline float dot(const float* x_D, const float* y_D, std::int64_t D) {
  float sum = 0;
  for (std::int64_t d = 0; d < D; ++d) sum += x_D[d] * y_D[d];
  return sum;
}

// One query: row bht of q, in head h at position i.
struct AttentionQuery {
  const AttentionArguments<float>& a;
  std::int64_t bht, h, i, first_key_row;  // first_key_row: of its key head in k and v
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

  // The number of keys that it sees, and the n-th of them.
  __device__ std::int64_t keys() const { return range.count(i, a.K); }
  __device__ std::int64_t key(std::int64_t n) const {
    std::int64_t prefix = range.prefix < a.K ? range.prefix : a.K, first = range.first(i);
    return n < prefix ? n : n - prefix + (first > prefix ? first : prefix);
  }
  __device__ const float* k_D(std::int64_t j) const { return a.k_BGKD + (first_key_row + j) * a.D; }
  __device__ const float* v_D(std::int64_t j) const { return a.v_BGKD + (first_key_row + j) * a.D; }

  // s_ij = scale q_i . k_j + bias_h[max(0, i - j)]
  __device__ float score(std::int64_t j) const { return score(j, dot(q_D, k_D(j), a.D)); }
  __device__ float score(std::int64_t j, float qk) const {
    float s = a.scale * qk;
    return a.bias_HT ? s + a.bias_HT[h * a.bias_columns + (i > j ? i - j : 0)] : s;
  }
  // The score of the extra key, if there is one.
  __device__ float extra_score() const {
    return a.extra_logit_H ? a.extra_logit_H[h] : a.scale * dot(q_D, a.extra_k_HD + h * a.D, a.D);
  }
};

// The inputs of the backward kernels, and 1 / z and z' D, which the dq kernel stores and the others load.
template <class X>
struct AttentionBackward {
  AttentionArguments<X> a;
  const X *do_BHTD, *o_BHTD;
  const float *m_BHT, *S_BHT;
  float *inverse_z_BHT, *dz_D_BHT;
};

// The weights of a row after the forward pass, and the gradients of its scores.
template <class Op>
struct AttentionWeights {
  AttentionRow<Op, FastFloat> row;
  FastFloat inverse_z;

  __device__ AttentionWeights(const Op& op, FastFloat m, FastFloat inverse_z) : row(op, m), inverse_z(inverse_z) {}
  __device__ AttentionWeights(const Op& op, float m, float S, std::int64_t keys)
      : row(op, m, S, static_cast<float>(keys)), inverse_z(FastFloat(1.0f) / row.z()) {}

  __device__ float z() const { return float(row.z()); }
  __device__ FastFloat w(FastFloat s) const { return w_at(s - row.m); }
  __device__ float a(FastFloat s) const { return a_at(s - row.m); }
  __device__ FastFloat dw(FastFloat s, FastFloat da) const { return dw_at(s - row.m, da); }
  // The factor of dw in D.
  __device__ FastFloat in_D(FastFloat s) const { return row.in_D(s - row.m, w(s)); }
  // z' D of a row that has its S.
  __device__ float dz_D(float D) const { return float(row.dz() * D); }
  __device__ float ds(FastFloat s, float da, float dz_D) const { return ds_at(s - row.m, da, dz_D); }

  // The same as functions of x = s - m.
  __device__ FastFloat w_at(FastFloat x) const {
    FastFloat w = row.g(x) * inverse_z;
    // Rounded above 1, the weight of a row's only key would be at the other side of a clip. NaN stays NaN.
    if constexpr (HasPost<Op> && DividesBySum<Op>) w = w > FastFloat(1.0f) ? FastFloat(1.0f) : w;
    return w;
  }
  __device__ float a_at(FastFloat x) const { return float(row.post(w_at(x))); }
  // dw = post'(w) da
  __device__ FastFloat dw_at(FastFloat x, FastFloat da) const { return HasPost<Op> ? row.dpost(w_at(x)) * da : da; }
  // ds = (g' dw - r' z' D) / z
  __device__ float ds_at(FastFloat x, float da, float dz_D) const {
    FastFloat gradient = row.dg(x) * dw_at(x, da);
    if constexpr (NormalizesRows<Op>) gradient = gradient - row.dr(x) * dz_D;
    return float(gradient * inverse_z);
  }
};

// The same as functions of x = s - m, or of an exponential's x = log2(e^(s - m) / z): w is 2^x, one instruction.
template <class Op>
struct TileWeights {
  AttentionWeights<Op> of_row;
  float shift;

  __device__ TileWeights(const Op& op, float shift, float inverse_z)
      : of_row(op, shift, FastFloat(inverse_z)), shift(shift) {}

  // x = kScale s - shift
  static constexpr float kScale = IsExponential<Op> ? kLog2E : 1.0f;
  __device__ static float shift_of(float m, float inverse_z) {
    return IsExponential<Op> ? fmaf(m, kScale, -log2_approx(inverse_z)) : m;
  }
  __device__ FastFloat x(float scaled_factor, float s) const { return fmaf(scaled_factor, s, -shift); }
  __device__ FastFloat w(FastFloat x) const {
    if constexpr (IsExponential<Op>)
      return exp2_approx(x.value);
    else
      return of_row.w_at(x);
  }
  __device__ FastFloat dw(FastFloat x, FastFloat da) const { return HasPost<Op> ? of_row.row.dpost(w(x)) * da : da; }
  __device__ float a(FastFloat x) const { return float(of_row.row.post(w(x))); }
  // w (da - z' D) of an exponential
  __device__ float ds(FastFloat x, float da, float dz_D) const {
    if constexpr (IsExponential<Op>)
      return float(w(x) * (da - dz_D));
    else
      return of_row.ds_at(x, da, dz_D);
  }
};

// In shared memory, for every warp of a block: a vector of D sums, whose element d belongs to lane d % 32, and one
// value per lane that all lanes read.
struct WarpSums {
  float *sums_D, *lane_values;
  std::int64_t D;

  // Vector n of `vectors` per warp, zero.
  __device__ WarpSums(int n, int vectors, std::int64_t D) : D(D) {
    std::int64_t warp = threadIdx.x / kWarp;
    float* own = shared_memory<float>() + warp * vectors * (D + kWarp) + n * (D + kWarp);
    sums_D = own;
    lane_values = own + D;
    for (std::int64_t d = lane_of_thread(); d < D; d += kWarp) sums_D[d] = 0;
  }
  static std::size_t bytes(int vectors, std::int64_t D) {
    return sizeof(float) * static_cast<std::size_t>(kRowThreads / kWarp * vectors * (D + kWarp));
  }

  // sums_D += sum over n < count of lane_values[n] x_of(n). Between two sync_warp().
  template <class RowOf>
  __device__ void add(int count, RowOf x_of) {
    for (int n = 0; n < count; ++n) {
      const float* x_D = x_of(n);
      for (std::int64_t d = lane_of_thread(); d < D; d += kWarp) sums_D[d] += lane_values[n] * x_D[d];
    }
  }
  __device__ void store(float factor, float* y_D) const {
    for (std::int64_t d = lane_of_thread(); d < D; d += kWarp) y_D[d] = factor * sums_D[d];
  }
};

}  // namespace sink::cuda
