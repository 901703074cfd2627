// The sums of every key of attention.h on the CUDA device. A warp has several keys, one after another, and adds what
// each receives by distance to an array of its own, so that every sum has a fixed order and none needs an atomic. These
// arrays, some 1,024 for all heads together, are added up last. In F32 a warp has one key at a time; BF16 has tiles
// (key_sums_tiles_cuda.cuh). Where sum_j |a_ij| does not follow from m and S, another pass over q and k computes it.
#pragma once

#include "engine/cuda/elements.cuh"
#include "engine/ops/attention/statistics/attention_statistics_cuda.cuh"
#include "engine/ops/attention/statistics/key_sums_tiles_cuda.cuh"

namespace sink::cuda {

// sum_j |a_ij| of a row, with the extra key's; in place of RowSums.
struct AbsoluteRowSum {
  float absolute_sum = 0;

  __device__ void add_extra_key(float weight, const float*, std::int64_t) { absolute_sum += fabsf(weight); }
  __device__ void add_key(std::int64_t, std::int64_t, float, float weight, float, float, float) {
    absolute_sum += fabsf(weight);
  }
  template <class Op, class Sum, class Store>
  __device__ void finish(const Op&, float, float, bool, Sum sum, Store store) const {
    store(0, sum(absolute_sum));
  }
};

// What the kernels need of every row, from m and S; a thread per row. absolute_sum_BHT: null where it is known.
template <class Op>
__global__ void key_sum_rows_kernel(Op op, AttentionArguments<float> a, const float* m_BHT, const float* S_BHT,
                                    const float* absolute_sum_BHT, KeySumRows rows) {
  std::int64_t bht = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (bht >= a.B * a.H * a.T) return;
  AttentionQuery query(a, bht);
  AttentionWeights<Op> weights(op, m_BHT[bht], S_BHT[bht], query.keys());
  float inverse_z = float(weights.inverse_z), extra_a = a.has_extra_key() ? weights.a(query.extra_score()) : 0;
  float absolute_sum = ProxyIsWeight<Op> ? 1 : absolute_sum_BHT ? absolute_sum_BHT[bht] : S_BHT[bht] * inverse_z;
  float inverse_sum = absolute_sum == 0 ? 0 : 1 / absolute_sum;
  rows.shift_BHT[bht] = TileWeights<Op>::shift_of(m_BHT[bht], inverse_z);
  rows.inverse_z_BHT[bht] = inverse_z;
  rows.inverse_sum_BHT[bht] = inverse_sum;
  rows.extra_raw_BHT[bht] = extra_a;
  rows.extra_proxy_BHT[bht] = fabsf(extra_a) * inverse_sum;
}

// Warp n of a head has the keys n, n + warps, ...; each of its lanes has queries.
template <class Op>
__global__ void attention_key_sums_kernel(Op op, AttentionArguments<float> a, KeySumRows rows, KeySumOutputs out) {
  std::int64_t row = row_of_warp(), bh = row / out.warps;
  if (bh >= a.B * a.H) return;
  KeyRange range = a.range_of(bh / a.H);
  for (std::int64_t j = row % out.warps; j < a.K; j += out.warps) {
    Span queries = range.query_bounding_range({a.first_position, a.first_position + a.T}, {j, j + 1});
    KeySum sum;
    for (std::int64_t i = queries.begin + lane_of_thread(); i < queries.end; i += kWarp) {
      if (!range.sees(i, j)) continue;
      AttentionQuery query(a, bh * a.T + i - a.first_position);
      TileWeights<Op> weights(op, rows.shift_BHT[query.bht], rows.inverse_z_BHT[query.bht]);
      float weight = weights.a(weights.x(TileWeights<Op>::kScale, query.score(j)));
      float proxy = fabsf(weight) * rows.inverse_sum_BHT[query.bht];
      sum.add(weight, proxy);
      if (i >= j) out.by_distance_BHWK[row * a.K + i - j] += proxy;
    }
    sum = {warp_sum(sum.raw), warp_sum(sum.proxy), warp_max(sum.largest)};
    if (lane_of_thread() == 0) out.store(bh * a.K + j, sum);
    sync_warp();  // the next key's sums by distance belong to other lanes
  }
}

template <class Op>
AttentionKeySums attention_key_sums(const Op& op, const Tensor& q, const Tensor& k, const Tensor& m, const Tensor& S,
                                    const AttentionConfig& config) {
  const std::int64_t B = q.dim(0), H = q.dim(1), T = q.dim(2), K = k.dim(2);
  const Tensor q_F32 = q.dtype() == DType::F32 ? q : q.to(DType::F32);
  const Tensor k_F32 = k.dtype() == DType::F32 ? k : k.to(DType::F32);
  const auto a = attention_arguments<float>(q_F32, k_F32, k_F32, config);

  Tensor absolute_sum_BHT;
  if constexpr (!ProxyIsWeight<Op> && !IsExponential<Op>) {
    absolute_sum_BHT = Tensor::empty_like(m);
    const Tensor q_length = lengths_of(q_F32), k_length = lengths_of(k_F32);
    const Lengths lengths{q_length.device_data<float>(), k_length.device_data<float>(), k_length.device_data<float>()};
    launch_row_statistics<AbsoluteRowSum>(op, q, k, k, a, lengths, m, S, config,
                                          {absolute_sum_BHT.device_data<float>(), nullptr, m.size(), 0, 0});
  }
  Tensor rows_RBHT = q.new_empty({KeySumRows::count, B, H, T}, DType::F32);
  const KeySumRows rows(rows_RBHT.device_data<float>(), m.size());
  launch({blocks_for(m.size(), kElementThreads), kElementThreads}, key_sum_rows_kernel<Op>, op, a,
         m.device_data<float>(), S.device_data<float>(), data_or_null(absolute_sum_BHT), rows);

  const std::int64_t warps = fits_tiles(q) ? kTileWarps * key_sum_blocks(B * H, K) : key_sum_warps(B * H, K);
  Tensor by_distance_BHWK = q.new_zeros({B, H, warps, K}, DType::F32),
         sums_SBHK = q.new_empty({4, B, H, K}, DType::F32);
  float *sums = sums_SBHK.device_data<float>(), *by_distance = by_distance_BHWK.device_data<float>();
  const std::int64_t keys = B * H * K;
  const KeySumOutputs out{sums, sums + keys, sums + 2 * keys, by_distance, warps};
  if (fits_tiles(q))
    attention_key_sums_in_tiles(op, q, k, config, rows, out);
  else
    launch(grid_of_rows(B * H * warps), attention_key_sums_kernel<Op>, op, a, rows, out);
  for_each_element(keys, [=] __device__(std::int64_t n) {
    float sum = 0;
    for (std::int64_t warp = 0; warp < warps; ++warp) sum += by_distance[(n / K * warps + warp) * K + n % K];
    sums[3 * keys + n] = sum;
  });

  Tensor extra_EBH = q.new_empty({2, B, H}, DType::F32);
  sum_rows(rows_RBHT.rows(KeySumRows::extra, KeySumRows::count), T, extra_EBH);
  auto part = [](const Tensor& x, std::int64_t n, const Shape& shape) {
    return x.rows(n, n + 1).reshape(shape).to(Device::cpu).to(DType::F64);
  };
  const Shape BHK{B, H, K}, BH{B, H};
  AttentionKeySums found{part(sums_SBHK, 0, BHK),      part(sums_SBHK, 1, BHK), part(sums_SBHK, 2, BHK),
                         part(sums_SBHK, 3, BHK),      part(extra_EBH, 0, BH),  part(extra_EBH, 1, BH),
                         Tensor::zeros(BH, DType::F64)};
  for (std::int64_t n = 0; n < keys; ++n)
    found.row_sum_BH.data<double>()[n / K] += found.raw_BHK.data<double>()[n] / static_cast<double>(T);
  return found;
}

}  // namespace sink::cuda
