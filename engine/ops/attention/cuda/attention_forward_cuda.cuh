// The forward pass in F32: a warp per query. The first pass over the keys computes m and S, each lane for its own keys
// (online softmax: Milakov and Gimelshein 2018); the second computes the weights and the output.
#pragma once

#include "engine/ops/attention/cuda/attention_hopper_cuda.h"
#include "engine/ops/attention/cuda/attention_tiles_forward_cuda.cuh"

namespace sink::cuda {

// Computes m_i and S_i, in all lanes.
template <class Op>
__device__ void row_sums(const Op& op, const AttentionQuery& query, float& m_i, float& S_i) {
  std::int64_t keys = query.keys();
  FastFloat m = first_m(op, FastFloat(static_cast<float>(keys))), S = 0.0f;
  auto add = [&](FastFloat s) {
    FastFloat raised = raised_m(op, m, s);
    AttentionRow<Op, FastFloat> row(op, raised);
    if (raised > m) S *= row.r_factor(m - raised);
    S += row.r(s - raised);
    m = raised;
  };
  for (std::int64_t n = lane_of_thread(); n < keys; n += kWarp) add(query.score(query.key(n)));
  if (query.a.has_extra_key() && lane_of_thread() == 0) add(query.extra_score());
  if constexpr (ShiftsByMax<Op>) {
    FastFloat largest = warp_max(float(m));
    if (largest > m) S *= AttentionRow<Op, FastFloat>(op, largest).r_factor(m - largest);
    m = largest;
  }
  m_i = float(m);
  S_i = warp_sum(float(S));
}

// The same where m_i is a threshold, by Newton's method. Every step computes all scores of the row again.
template <class Op>
__device__ void row_threshold(const Op& op, const AttentionQuery& query, float& m_i, float& S_i) {
  std::int64_t keys = query.keys();
  bool extra = query.a.has_extra_key() && lane_of_thread() == 0;  // lane 0's
  float largest = extra ? query.extra_score() : std::numeric_limits<float>::lowest();
  for (std::int64_t n = lane_of_thread(); n < keys; n += kWarp) largest = fmaxf(largest, query.score(query.key(n)));
  m_i = float(op.threshold_start(FastFloat(warp_max(largest))));
  for (int step = 0; step < kThresholdSteps; ++step) {
    AttentionRow<Op, FastFloat> row(op, m_i);
    float sum = 0, slope = 0;
    auto add = [&](float s) {
      sum += float(row.g(s - m_i));
      slope += float(row.dg(s - m_i));
    };
    for (std::int64_t n = lane_of_thread(); n < keys; n += kWarp) add(query.score(query.key(n)));
    if (extra) add(query.extra_score());
    S_i = warp_sum(slope);
    float next = m_i + (warp_sum(sum) - 1) / S_i;
    if (!(next > m_i)) return;
    m_i = next;
  }
}

template <class Op>
__global__ void attention_kernel(Op op, AttentionArguments<float> a, float* o_BHTD, float* m_BHT, float* S_BHT) {
  std::int64_t bht = row_of_warp();
  if (bht >= a.B * a.H * a.T) return;
  AttentionQuery query(a, bht);
  std::int64_t keys = query.keys();
  float m, S;
  if constexpr (ShiftsByThreshold<Op>)
    row_threshold(op, query, m, S);
  else
    row_sums(op, query, m, S);

  AttentionWeights<Op> weights(op, m, S, keys);
  WarpSums o(0, 1, a.D);
  for (std::int64_t first = 0; first < keys; first += kWarp) {
    std::int64_t n = first + lane_of_thread();
    o.lane_values[lane_of_thread()] = n < keys ? weights.a(query.score(query.key(n))) : 0;
    sync_warp();
    int count = static_cast<int>(keys - first < kWarp ? keys - first : kWarp);
    o.add(count, [&](int lane) { return query.v_D(query.key(first + lane)); });
    sync_warp();
  }
  if (a.extra_v_HD) {
    float weight = weights.a(query.extra_score());
    for (std::int64_t d = lane_of_thread(); d < a.D; d += kWarp)
      o.sums_D[d] += weight * a.extra_v_HD[query.h * a.D + d];
  }
  o.store(1, o_BHTD + bht * a.D);
  if (lane_of_thread() == 0) {
    m_BHT[bht] = m;
    S_BHT[bht] = S;
  }
}

template <class Op>
void attention_in_rows(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionConfig& config,
                       Tensor& o, Tensor& m, Tensor& S) {
  Grid grid = grid_of_rows(m.size());
  grid.shared_bytes = WarpSums::bytes(1, q.dim(3));
  launch(grid, attention_kernel<Op>, op, attention_arguments<float>(q, k, v, config), o.device_data<float>(),
         m.device_data<float>(), S.device_data<float>());
}

template <class Op>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  if (q_BHTD.dtype() == DType::F32) return attention_in_rows(op, q_BHTD, k_BGKD, v_BGKD, config, o_BHTD, m_BHT, S_BHT);
  if constexpr (HasTiles<Op>) {
    if (fits_tiles(q_BHTD) && has_hopper())
      return attention_on_hopper(op, q_BHTD, k_BGKD, v_BGKD, config, o_BHTD, m_BHT, S_BHT);
    if (fits_tiles(q_BHTD)) return attention_in_tiles(op, q_BHTD, k_BGKD, v_BGKD, config, o_BHTD, m_BHT, S_BHT);
  }
  Tensor o = q_BHTD.new_empty(q_BHTD.shape(), DType::F32);
  attention_in_rows(op, q_BHTD.to(DType::F32), k_BGKD.to(DType::F32), v_BGKD.to(DType::F32), config, o, m_BHT, S_BHT);
  o_BHTD.copy_from(o);
}

}  // namespace sink::cuda
