// The statistics on the CUDA device: each row of the attention pattern gives its own, which are then summed over the
// rows in a fixed order. In F32 a warp computes a row; BF16 has tiles (attention_statistics_tiles_cuda.cuh). Computed
// in float, returned in F64.
#pragma once

#include "engine/ops/attention/statistics/attention_row_statistics_cuda.cuh"
#include "engine/ops/attention/statistics/attention_statistics_tiles_cuda.cuh"
#include "engine/ops/reductions/row_statistics.h"

namespace sink::cuda {

// |x| of every row of x, in F32.
inline Tensor lengths_of(const Tensor& x) {
  Tensor statistics = Tensor::empty({3, x.size() / x.dim(-1)}, DType::F64, x.device());
  sink::row_statistics(x, statistics);
  return statistics.rows(0, 1).to(DType::F32);
}

// One dot product per pair, q_i . k_j, gives the score, the weight and the angle. Sums: RowSums, or what takes its
// place.
template <class Sums, class Op>
__global__ void attention_row_statistics_kernel(Op op, AttentionArguments<float> a, Lengths lengths, const float* m_BHT,
                                                const float* S_BHT, RowOutputs out) {
  std::int64_t bht = row_of_warp();
  if (bht >= out.rows) return;
  AttentionQuery query(a, bht);
  std::int64_t keys = query.keys();
  AttentionWeights<Op> weights(op, m_BHT[bht], S_BHT[bht], keys);
  Sums sums;
  float extra_a = a.has_extra_key() ? weights.a(query.extra_score()) : 0;
  if (a.has_extra_key() && lane_of_thread() == 0)
    sums.add_extra_key(extra_a, a.extra_v_HD ? a.extra_v_HD + query.h * a.D : nullptr, a.D);
  for (std::int64_t n = lane_of_thread(); n < keys; n += kWarp) {
    std::int64_t j = query.key(n), key_row = query.first_key_row + j;
    float qk = dot(query.q_D, query.k_D(j), a.D), weight = weights.a(query.score(j, qk));
    sums.add_key(query.i, j, qk, weight, lengths.q_BHT[bht], lengths.k_BGK[key_row], lengths.v_BGK[key_row]);
    out.store_weight(bht, j, weight);
  }
  sums.finish(
      op, weights.z(), extra_a, query.i > 0 && query.range.sees(query.i, 0), [](float x) { return warp_sum(x); },
      [&](int n, float value) {
        if (lane_of_thread() == 0) out.store(n, bht, value);
      });
}

// `a` has q, k and v in F32.
template <class Sums, class Op>
void launch_row_statistics(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v,
                           const AttentionArguments<float>& a, const Lengths& lengths, const Tensor& m, const Tensor& S,
                           const AttentionConfig& config, const RowOutputs& out) {
  if (fits_tiles(q)) return attention_row_statistics_in_tiles<Sums>(op, q, k, v, lengths, m, S, config, out);
  launch(grid_of_rows(m.size()), attention_row_statistics_kernel<Sums, Op>, op, a, lengths, m.device_data<float>(),
         S.device_data<float>(), out);
}

// sums_n = sum of the values [n T, (n + 1) T) of `rows`, in a fixed order.
void sum_rows(const Tensor& rows, std::int64_t T, Tensor& sums);
// Statistic n of every (b, h) in F64, divided by statistic `pairs` (0 where that is 0), or by `rows` if `pairs` is -1.
Tensor head_means(const Tensor& sums_RBH, int n, int pairs, std::int64_t rows, const Shape& BH);
// sum_i a_ij and the same of the proxies |a_ij| / divisor_i, of the C columns from `first_column` on, in a fixed order.
void sum_columns(const Tensor& weights_BHTC, const Tensor& rows_RBHT, std::int64_t first_column, Tensor& raw_BHX,
                 Tensor& proxy_BHX);

template <class Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v,
                                         const Tensor& m, const Tensor& S, const AttentionConfig& config,
                                         std::int64_t X) {
  using Row = RowStatistics;
  constexpr std::int64_t kColumns = 64;  // whose weights are stored at once
  std::int64_t B = q.dim(0), H = q.dim(1), T = q.dim(2);
  auto f32 = [](const Tensor& x) { return x.dtype() == DType::F32 ? x : x.to(DType::F32); };
  const Tensor q_F32 = f32(q), k_F32 = f32(k), v_F32 = f32(v);
  const Tensor q_length = lengths_of(q_F32), k_length = lengths_of(k_F32), v_length = lengths_of(v_F32);
  Lengths lengths{q_length.device_data<float>(), k_length.device_data<float>(), v_length.device_data<float>()};
  Tensor rows_RBHT = q.new_empty({Row::count, B, H, T}, DType::F32);
  Tensor raw_BHX = q.new_empty({B, H, X}, DType::F32), proxy_BHX = Tensor::empty_like(raw_BHX);
  for (std::int64_t first = 0; first < std::max<std::int64_t>(X, 1); first += kColumns) {
    std::int64_t C = std::min(kColumns, X - first);
    Tensor weights_BHTC = q.new_zeros({B, H, T, C}, DType::F32);
    RowOutputs out{rows_RBHT.device_data<float>(), weights_BHTC.device_data<float>(), m.size(), first, C};
    launch_row_statistics<RowSums>(op, q, k, v, attention_arguments<float>(q_F32, k_F32, v_F32, config), lengths, m, S,
                                   config, out);
    sum_columns(weights_BHTC, rows_RBHT, first, raw_BHX, proxy_BHX);
  }
  Tensor sums_RBH = q.new_empty({Row::count, B, H}, DType::F32);
  sum_rows(rows_RBHT, T, sums_RBH);

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

}  // namespace sink::cuda
