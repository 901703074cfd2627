// The statistics on the CUDA device: a warp per query stores the statistics of its row, a warp per key sums its column
// of the attention pattern, and the rows are summed in a fixed order. Computed in float, returned in F64.
#pragma once

#include "engine/ops/attention/cuda/attention_cuda.cuh"
#include "engine/ops/reductions/row_statistics.h"

namespace sink::cuda {

// A lane's sums over its own keys of a row.
struct RowStatistics {
  enum Statistic {
    row_sum,
    entropy,
    extra_raw,
    extra_proxy,
    divisor,
    first_key,
    other_keys = first_key + 4,
    share_rows = other_keys + 4,
    share,
    count
  };
  float values[count] = {};

  // Adds one key, if `included`, to the number of pairs, dot products, products of norms and cosines at kAt. (kAt is a
  // constant so that the values stay in registers.)
  template <Statistic kAt>
  __device__ void add_angle(bool included, float qk, float norms) {
    values[kAt] += included ? 1 : 0;
    values[kAt + 1] += included ? qk : 0;
    values[kAt + 2] += included ? norms : 0;
    values[kAt + 3] += included && norms > 0 ? qk / norms : 0;
  }
};

// Begins with |x| of every row of x.
inline Tensor lengths(const Tensor& x) {
  Tensor statistics = Tensor::empty({3, x.size() / x.dim(-1)}, DType::F64, x.device());
  sink::row_statistics(x, statistics);
  return statistics;
}

// One dot product per pair, q_i . k_j, gives the score, the weight and the angle.
template <class Op>
__global__ void attention_row_statistics_kernel(Op op, AttentionArguments<float> a, const double* q_length_BHT,
                                                const double* k_length_BGK, const double* v_length_BGK,
                                                const float* m_BHT, const float* S_BHT, float* rows_RBHT) {
  std::int64_t bht = row_of_warp(), all = a.B * a.H * a.T;
  if (bht >= all) return;
  AttentionQuery query(a, bht);
  std::int64_t keys = query.keys();
  AttentionWeights<Op> weights(op, m_BHT[bht], S_BHT[bht], keys);
  bool extra = a.has_extra_key() && lane_of_thread() == 0;  // lane 0's
  float extra_a = extra ? weights.a(query.extra_score()) : 0;

  RowStatistics row;
  float absolute_sum = 0, log_sum = 0;  // of |a| and of |a| log |a|
  auto add_size = [&](float weight) {
    float size = fabsf(weight);
    absolute_sum += size;
    if (size > 0) log_sum += size * float(log_fast(FastFloat(size)));
  };
  float valued = 0, first_valued = 0, q_length = static_cast<float>(q_length_BHT[bht]);
  add_size(extra_a);
  if (extra && a.extra_v_HD) {
    const float* v_D = a.extra_v_HD + query.h * a.D;
    valued = fabsf(extra_a) * sqrtf(dot(v_D, v_D, a.D));
  }
  for (std::int64_t n = lane_of_thread(); n < keys; n += kWarp) {
    std::int64_t j = query.key(n), key_row = query.first_key_row + j;
    float qk = dot(query.q_D, query.k_D(j), a.D), weight = weights.a(query.score(j, qk));
    add_size(weight);
    row.values[RowStatistics::row_sum] += weight;
    if (query.i == 0) continue;
    float of_value = fabsf(weight) * static_cast<float>(v_length_BGK[key_row]);
    valued += of_value;
    first_valued += j == 0 ? of_value : 0;
    float norms = q_length * static_cast<float>(k_length_BGK[key_row]);
    row.add_angle<RowStatistics::first_key>(j == 0, qk, norms);
    row.add_angle<RowStatistics::other_keys>(j != 0, qk, norms);
  }
  // With p = |a| / divisor: -sum p log p = sum |a| / divisor log divisor - sum |a| log |a| / divisor.
  absolute_sum = warp_sum(absolute_sum);
  float divisor = proxy_divisor(op, absolute_sum, weights.z());
  float entropy = (absolute_sum * float(log_fast(FastFloat(divisor))) - warp_sum(log_sum)) / divisor;
  row.values[RowStatistics::entropy] = lane_of_thread() == 0 ? entropy : 0;
  row.values[RowStatistics::extra_raw] = extra_a;
  row.values[RowStatistics::extra_proxy] = fabsf(extra_a) / divisor;
  valued = warp_sum(valued);
  bool counted = lane_of_thread() == 0 && query.i > 0 && query.range.sees(query.i, 0);  // key 0 is lane 0's
  row.values[RowStatistics::share_rows] = counted ? 1 : 0;
  row.values[RowStatistics::share] = counted && valued > 0 ? first_valued / valued : 0;
  row.values[RowStatistics::divisor] = lane_of_thread() == 0 ? divisor : 0;
  for (int n = 0; n < RowStatistics::count; ++n) {
    float sum = warp_sum(row.values[n]);
    if (lane_of_thread() == 0) rows_RBHT[n * all + bht] = sum;
  }
}

// sums_n = sum of the values [n T, (n + 1) T) of `rows`, in a fixed order.
void sum_rows(const Tensor& rows, std::int64_t T, Tensor& sums);
// Statistic n of every (b, h) in F64, divided by statistic `pairs` (0 where that is 0), or by `rows` if `pairs` is -1.
Tensor head_means(const Tensor& sums_RBH, int n, int pairs, std::int64_t rows, const Shape& BH);

// sum_i a_ij and the same of the proxies for the first X keys; a warp per column.
template <class Op>
__global__ void attention_column_statistics_kernel(Op op, AttentionArguments<float> a, const float* m_BHT,
                                                   const float* S_BHT, const float* divisor_BHT, std::int64_t X,
                                                   float* raw_BHX, float* proxy_BHX) {
  std::int64_t bhx = row_of_warp();
  if (bhx >= a.B * a.H * X) return;
  std::int64_t j = bhx % X, first_row = bhx / X * a.T;
  KeyRange range = a.range_of(bhx / X / a.H);
  float raw = 0, proxy = 0;
  for (std::int64_t t = lane_of_thread(); t < a.T; t += kWarp) {
    if (!range.sees(a.first_position + t, j)) continue;
    AttentionQuery query(a, first_row + t);
    float weight = AttentionWeights<Op>(op, m_BHT[query.bht], S_BHT[query.bht], query.keys()).a(query.score(j));
    raw += weight;
    proxy += fabsf(weight) / divisor_BHT[query.bht];
  }
  raw = warp_sum(raw);
  proxy = warp_sum(proxy);
  if (lane_of_thread() == 0) raw_BHX[bhx] = raw, proxy_BHX[bhx] = proxy;
}

template <class Op>
AttentionStatistics attention_statistics_in_rows(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v,
                                                 const Tensor& m, const Tensor& S, const AttentionConfig& config,
                                                 std::int64_t X) {
  using Row = RowStatistics;
  std::int64_t B = q.dim(0), H = q.dim(1), T = q.dim(2);
  auto a = attention_arguments<float>(q, k, v, config);
  Tensor rows_RBHT = q.new_empty({Row::count, B, H, T}, DType::F32);
  Tensor sums_RBH = q.new_empty({Row::count, B, H}, DType::F32);
  Tensor raw_BHX = q.new_empty({B, H, X}, DType::F32), proxy_BHX = Tensor::empty_like(raw_BHX);
  const float *m_data = m.device_data<float>(), *S_data = S.device_data<float>();
  float* rows = rows_RBHT.device_data<float>();
  const Tensor q_length = lengths(q), k_length = lengths(k), v_length = lengths(v);
  launch(grid_of_rows(m.size()), attention_row_statistics_kernel<Op>, op, a, q_length.device_data<double>(),
         k_length.device_data<double>(), v_length.device_data<double>(), m_data, S_data, rows);
  sum_rows(rows_RBHT, T, sums_RBH);
  launch(grid_of_rows(raw_BHX.size()), attention_column_statistics_kernel<Op>, op, a, m_data, S_data,
         rows + Row::divisor * m.size(), X, raw_BHX.device_data<float>(), proxy_BHX.device_data<float>());

  Shape BH{B, H};
  auto sum = [&](int n) { return head_means(sums_RBH, n, -1, 1, BH); };
  auto mean = [&](int n) { return head_means(sums_RBH, n, -1, T, BH); };
  auto angle = [&](int of, int n) { return head_means(sums_RBH, of + n, of, 0, BH); };
  return {.column_raw_BHX = raw_BHX.to(DType::F64),
          .column_proxy_BHX = proxy_BHX.to(DType::F64),
          .extra_raw_BH = sum(Row::extra_raw),
          .extra_proxy_BH = sum(Row::extra_proxy),
          .row_sum_BH = mean(Row::row_sum),
          .entropy_BH = mean(Row::entropy),
          .key1_dot_BH = angle(Row::first_key, 1),
          .key1_norms_BH = angle(Row::first_key, 2),
          .key1_cosine_BH = angle(Row::first_key, 3),
          .other_dot_BH = angle(Row::other_keys, 1),
          .other_norms_BH = angle(Row::other_keys, 2),
          .other_cosine_BH = angle(Row::other_keys, 3),
          .value_share_BH = head_means(sums_RBH, Row::share, Row::share_rows, 0, BH)};
}

template <class Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                                         const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                                         std::int64_t n_columns) {
  auto f32 = [](const Tensor& x) { return x.dtype() == DType::F32 ? x : x.to(DType::F32); };
  return attention_statistics_in_rows(op, f32(q_BHTD), f32(k_BGKD), f32(v_BGKD), m_BHT, S_BHT, config, n_columns);
}

}  // namespace sink::cuda
