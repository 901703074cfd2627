// The map's statistics on the CUDA device: a warp per query writes its row's numbers down, a warp per column sums that
// column, and the rows' numbers are summed in order. No map is stored. Computed in float, given in F64 as the others.
#pragma once

#include "engine/ops/attention/cuda/attention_cuda.cuh"

namespace sink::cuda {

// Sums over the keys of a row, of each lane for its own keys.
struct RowStatistics {
  enum Number {
    mass,
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
  float numbers[count] = {};

  // Pairs, dot products, products of norms and cosines of one key, if it belongs to those that are counted at kAt. (The
  // place is known to the compiler, or the numbers could not stay in registers.)
  template <Number kAt>
  __device__ void add_angle(bool belongs, float qk, float norms) {
    numbers[kAt] += belongs ? 1 : 0;
    numbers[kAt + 1] += belongs ? qk : 0;
    numbers[kAt + 2] += belongs ? norms : 0;
    numbers[kAt + 3] += belongs && norms > 0 ? qk / norms : 0;
  }
};

template <class Op>
__global__ void attention_row_statistics_kernel(Op op, AttentionArguments<float> a, const float* m_BHT,
                                                const float* S_BHT, float* rows_RBHT) {
  std::int64_t bht = row_of_warp(), all = a.B * a.H * a.T;
  if (bht >= all) return;
  AttentionQuery query(a, bht);
  std::int64_t keys = query.keys();
  AttentionWeights<Op> weights(op, m_BHT[bht], S_BHT[bht], keys);
  bool extra = a.has_extra_key() && lane_of_thread() == 0;  // lane 0's
  float extra_a = extra ? weights.a(query.extra_score()) : 0;

  RowStatistics row;
  float absolute_mass = fabsf(extra_a), valued = 0, first_valued = 0, q_norm = sqrtf(dot(query.q_D, query.q_D, a.D));
  auto length = [&](const float* x_D) { return sqrtf(dot(x_D, x_D, a.D)); };
  if (extra && a.extra_v_HD) valued = fabsf(extra_a) * length(a.extra_v_HD + query.h * a.D);
  for (std::int64_t n = lane_of_thread(); n < keys; n += kWarp) {
    std::int64_t j = query.key(n);
    float weight = weights.a(query.score(j));
    absolute_mass += fabsf(weight);
    row.numbers[RowStatistics::mass] += weight;
    if (query.i == 0) continue;
    float of_value = fabsf(weight) * length(query.v_D(j));
    valued += of_value;
    first_valued += j == 0 ? of_value : 0;
    const float* k_D = query.k_D(j);
    float qk = dot(query.q_D, k_D, a.D), norms = q_norm * sqrtf(dot(k_D, k_D, a.D));
    row.add_angle<RowStatistics::first_key>(j == 0, qk, norms);
    row.add_angle<RowStatistics::other_keys>(j != 0, qk, norms);
  }
  float divisor = proxy_divisor(op, warp_sum(absolute_mass), weights.z());
  auto add_entropy = [&](float weight) {
    float proxy = fabsf(weight) / divisor;
    if (proxy > 0) row.numbers[RowStatistics::entropy] -= proxy * float(log_fast(proxy));
  };
  for (std::int64_t n = lane_of_thread(); n < keys; n += kWarp) add_entropy(weights.a(query.score(query.key(n))));
  if (extra) add_entropy(extra_a);
  row.numbers[RowStatistics::extra_raw] = extra_a;
  row.numbers[RowStatistics::extra_proxy] = fabsf(extra_a) / divisor;
  valued = warp_sum(valued);
  bool counted = lane_of_thread() == 0 && query.i > 0 && query.range.sees(query.i, 0);  // key 0 is lane 0's
  row.numbers[RowStatistics::share_rows] = counted ? 1 : 0;
  row.numbers[RowStatistics::share] = counted && valued > 0 ? first_valued / valued : 0;
  row.numbers[RowStatistics::divisor] = lane_of_thread() == 0 ? divisor : 0;
  for (int n = 0; n < RowStatistics::count; ++n) {
    float sum = warp_sum(row.numbers[n]);
    if (lane_of_thread() == 0) rows_RBHT[n * all + bht] = sum;
  }
}

// sums_n = the n-th T of all rows' numbers, in an order of its own.
void sum_rows(const Tensor& rows, std::int64_t T, Tensor& sums);
// Number n of every (b, h) in F64, divided by `rows` or, for angles, by how many pairs there are (number `pairs`, or
// -1).
Tensor head_numbers(const Tensor& sums_RBH, int n, int pairs, std::int64_t rows, const Shape& BH);

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
  launch(grid_of_rows(m.size()), attention_row_statistics_kernel<Op>, op, a, m_data, S_data, rows);
  sum_rows(rows_RBHT, T, sums_RBH);
  launch(grid_of_rows(raw_BHX.size()), attention_column_statistics_kernel<Op>, op, a, m_data, S_data,
         rows + Row::divisor * m.size(), X, raw_BHX.device_data<float>(), proxy_BHX.device_data<float>());

  Shape BH{B, H};
  auto sum = [&](int n) { return head_numbers(sums_RBH, n, -1, 1, BH); };
  auto mean = [&](int n) { return head_numbers(sums_RBH, n, -1, T, BH); };
  auto angle = [&](int of, int n) { return head_numbers(sums_RBH, of + n, of, 0, BH); };
  return {.column_raw_BHX = raw_BHX.to(DType::F64),
          .column_proxy_BHX = proxy_BHX.to(DType::F64),
          .extra_raw_BH = sum(Row::extra_raw),
          .extra_proxy_BH = sum(Row::extra_proxy),
          .row_mass_BH = mean(Row::mass),
          .entropy_BH = mean(Row::entropy),
          .key1_dot_BH = angle(Row::first_key, 1),
          .key1_norms_BH = angle(Row::first_key, 2),
          .key1_cosine_BH = angle(Row::first_key, 3),
          .other_dot_BH = angle(Row::other_keys, 1),
          .other_norms_BH = angle(Row::other_keys, 2),
          .other_cosine_BH = angle(Row::other_keys, 3),
          .value_share_BH = head_numbers(sums_RBH, Row::share, Row::share_rows, 0, BH)};
}

template <class Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                                         const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                                         std::int64_t n_columns) {
  auto f32 = [](const Tensor& x) { return x.dtype() == DType::F32 ? x : x.to(DType::F32); };
  return attention_statistics_in_rows(op, f32(q_BHTD), f32(k_BGKD), f32(v_BGKD), m_BHT, S_BHT, config, n_columns);
}

}  // namespace sink::cuda
