// The backward pass in F32, without atomics: a warp per query for dq, a warp per key for dk and dv, a warp per
// head and distance for dbias. Each query's contribution to the gradients of the extra key is stored and summed
// afterwards.
#pragma once

#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/cuda/attention_gradients_cuda.cuh"
#include "engine/ops/attention/cuda/attention_tiles_backward_cuda.cuh"

namespace sink::cuda {

struct RowBackward : AttentionBackward<float> {
  template <class Op>
  __device__ AttentionWeights<Op> weights(const Op& op, const AttentionQuery& query) const {
    return {op, m_BHT[query.bht], S_BHT[query.bht], query.keys()};
  }
  // The same from what the dq kernel has stored: without S.
  template <class Op>
  __device__ AttentionWeights<Op> stored_weights(const Op& op, const AttentionQuery& query) const {
    return {op, FastFloat(m_BHT[query.bht]), FastFloat(inverse_z_BHT[query.bht])};
  }
  __device__ const float* do_D(const AttentionQuery& query) const { return do_BHTD + query.bht * a.D; }
  // do_i . v of the extra key
  __device__ float extra_da(const AttentionQuery& query) const {
    return a.extra_v_HD ? dot(do_D(query), a.extra_v_HD + query.h * a.D, a.D) : 0;
  }
};

// Returns D_i of attention.h, in all lanes; do_i . o_i where post is the identity and m no threshold.
template <class Op>
__device__ float row_D(const Op& op, const RowBackward& in, const AttentionQuery& query) {
  if constexpr (!NormalizesRows<Op>) {
    return 0;
  } else {
    const float *do_D = in.do_D(query), *o_D = in.o_BHTD + query.bht * in.a.D;
    float sum = 0;
    if constexpr (NeedsWholeRow<Op>) {
      AttentionWeights<Op> weights = in.weights(op, query);
      auto add = [&](float s, float da) { sum += float(weights.in_D(s) * weights.dw(s, da)); };
      for (std::int64_t n = lane_of_thread(); n < query.keys(); n += kWarp) {
        std::int64_t j = query.key(n);
        add(query.score(j), dot(do_D, query.v_D(j), in.a.D));
      }
      if (in.a.has_extra_key() && lane_of_thread() == 0) add(query.extra_score(), in.extra_da(query));
    } else {
      for (std::int64_t d = lane_of_thread(); d < in.a.D; d += kWarp) sum += do_D[d] * o_D[d];
    }
    return warp_sum(sum);
  }
}

// dq_i = scale sum_j ds_ij k_j, 1 / z_i, z' D_i, and ds_i* and a_i* of the extra key.
template <class Op>
__global__ void attention_dq_kernel(Op op, RowBackward in, float* dq_BHTD, float* extra_ds_BHT, float* extra_a_BHT) {
  const AttentionArguments<float>& a = in.a;
  std::int64_t bht = row_of_warp();
  if (bht >= a.B * a.H * a.T) return;
  AttentionQuery query(a, bht);
  AttentionWeights<Op> weights = in.weights(op, query);
  std::int64_t keys = query.keys();
  const float* do_D = in.do_D(query);
  float dz_D = weights.dz_D(row_D(op, in, query));
  if (lane_of_thread() == 0) {
    in.inverse_z_BHT[bht] = float(weights.inverse_z);
    in.dz_D_BHT[bht] = dz_D;
  }

  WarpSums dq(0, 1, a.D);
  for (std::int64_t first = 0; first < keys; first += kWarp) {
    std::int64_t n = first + lane_of_thread();
    float ds = 0;
    if (n < keys) {
      std::int64_t j = query.key(n);
      ds = weights.ds(query.score(j), dot(do_D, query.v_D(j), a.D), dz_D);
    }
    dq.lane_values[lane_of_thread()] = ds;
    sync_warp();
    int count = static_cast<int>(keys - first < kWarp ? keys - first : kWarp);
    dq.add(count, [&](int lane) { return query.k_D(query.key(first + lane)); });
    sync_warp();
  }
  if (a.has_extra_key()) {
    float s = query.extra_score(), ds = weights.ds(s, in.extra_da(query), dz_D);
    if (a.extra_k_HD)
      for (std::int64_t d = lane_of_thread(); d < a.D; d += kWarp) dq.sums_D[d] += ds * a.extra_k_HD[query.h * a.D + d];
    if (lane_of_thread() == 0) {
      extra_ds_BHT[bht] = ds;
      extra_a_BHT[bht] = weights.a(s);
    }
  }
  dq.store(a.scale, dq_BHTD + bht * a.D);
}

// dk_j = scale sum_i ds_ij q_i and dv_j = sum_i a_ij do_i, over the queries of all heads of the group.
template <class Op>
__global__ void attention_dk_dv_kernel(Op op, RowBackward in, float* dk_BGKD, float* dv_BGKD) {
  const AttentionArguments<float>& a = in.a;
  std::int64_t bgj = row_of_warp();
  if (bgj >= a.B * a.G * a.K) return;
  std::int64_t j = bgj % a.K, g = bgj / a.K % a.G, b = bgj / a.K / a.G, heads = a.H / a.G;
  WarpSums dk(0, 2, a.D), dv(1, 2, a.D);
  KeyRange range = a.range_of(b);
  Span bounds = range.query_bounding_range({a.first_position, a.first_position + a.T}, {j, j + 1});
  std::int64_t first_t = bounds.begin - a.first_position, end_t = bounds.end - a.first_position;
  for (std::int64_t h = g * heads; h < (g + 1) * heads; ++h) {
    std::int64_t first_row = (b * a.H + h) * a.T;
    for (std::int64_t first = first_t; first < end_t; first += kWarp) {
      std::int64_t t = first + lane_of_thread();
      float ds = 0, weight = 0;
      if (t < end_t && range.sees(a.first_position + t, j)) {
        AttentionQuery query(a, first_row + t);
        AttentionWeights<Op> weights = in.stored_weights(op, query);
        float s = query.score(j);
        weight = weights.a(s);
        ds = weights.ds(s, dot(in.do_D(query), query.v_D(j), a.D), in.dz_D_BHT[query.bht]);
      }
      dk.lane_values[lane_of_thread()] = ds;
      dv.lane_values[lane_of_thread()] = weight;
      sync_warp();
      int count = static_cast<int>(end_t - first < kWarp ? end_t - first : kWarp);
      dk.add(count, [&](int lane) { return a.q_BHTD + (first_row + first + lane) * a.D; });
      dv.add(count, [&](int lane) { return in.do_BHTD + (first_row + first + lane) * a.D; });
      sync_warp();
    }
  }
  dk.store(a.scale, dk_BGKD + bgj * a.D);
  dv.store(1, dv_BGKD + bgj * a.D);
}

// dbias_h[distance] = sum of ds_ij over all queries and the keys at that distance; 0 includes keys after the query.
template <class Op>
__global__ void attention_dbias_kernel(Op op, RowBackward in, float* dbias_HT) {
  const AttentionArguments<float>& a = in.a;
  std::int64_t row = row_of_warp(), distance = row % a.bias_columns, h = row / a.bias_columns;
  if (h >= a.H) return;
  float sum = 0;
  for (std::int64_t bt = lane_of_thread(); bt < a.B * a.T; bt += kWarp) {
    AttentionQuery query(a, (bt / a.T * a.H + h) * a.T + bt % a.T);
    AttentionWeights<Op> weights = in.stored_weights(op, query);
    std::int64_t first = query.i - distance,
                 end = distance == 0 && a.range.prefix > first + 1 ? a.range.prefix : first + 1;
    float dz_D = in.dz_D_BHT[query.bht];
    for (std::int64_t j = first; j < (end < a.K ? end : a.K); ++j)
      if (j >= 0 && query.range.sees(query.i, j))
        sum += weights.ds(query.score(j), dot(in.do_D(query), query.v_D(j), a.D), dz_D);
  }
  sum = warp_sum(sum);
  if (lane_of_thread() == 0) dbias_HT[row] = sum;
}

template <class Op>
AttentionGradients attention_backward_in_rows(const Op& op, const Tensor& grad_o, const Tensor& q, const Tensor& k,
                                              const Tensor& v, const Tensor& o, const Tensor& m, const Tensor& S,
                                              const AttentionConfig& config) {
  Grid queries = grid_of_rows(m.size()), keys = grid_of_rows(k.size() / k.dim(3));
  queries.shared_bytes = WarpSums::bytes(1, q.dim(3));
  keys.shared_bytes = WarpSums::bytes(2, q.dim(3));
  return backward_with<float>(
      grad_o, q, k, v, o, m, S, config,
      [&](const AttentionBackward<float>& inputs, AttentionGradients& gradients, float* extra_ds, float* extra_a) {
        RowBackward in{inputs};
        launch(queries, attention_dq_kernel<Op>, op, in, gradients.dq_BHTD.device_data<float>(), extra_ds, extra_a);
        launch(keys, attention_dk_dv_kernel<Op>, op, in, gradients.dk_BGKD.device_data<float>(),
               gradients.dv_BGKD.device_data<float>());
        if (gradients.dbias_HT.defined())
          launch(grid_of_rows(config.bias_HT.size()), attention_dbias_kernel<Op>, op, in,
                 gradients.dbias_HT.device_data<float>());
      });
}

template <class Op>
AttentionGradients attention_backward(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGKD,
                                      const Tensor& v_BGKD, const Tensor& o_BHTD, const Tensor& m_BHT,
                                      const Tensor& S_BHT, const AttentionConfig& config) {
  if constexpr (HasTiles<Op>)
    if (fits_tiles(q_BHTD))
      return attention_backward_in_tiles(op, do_BHTD, q_BHTD, k_BGKD, v_BGKD, o_BHTD, m_BHT, S_BHT, config);
  auto f32 = [](const Tensor& x) { return x.dtype() == DType::F32 ? x : x.to(DType::F32); };
  AttentionGradients gradients = attention_backward_in_rows(op, f32(do_BHTD), f32(q_BHTD), f32(k_BGKD), f32(v_BGKD),
                                                            f32(o_BHTD), m_BHT, S_BHT, config);
  for (Tensor* x : {&gradients.dq_BHTD, &gradients.dk_BGKD, &gradients.dv_BGKD}) *x = x->to(q_BHTD.dtype());
  return gradients;
}

}  // namespace sink::cuda
