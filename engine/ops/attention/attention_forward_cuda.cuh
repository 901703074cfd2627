// The forward pass on the CUDA device: a warp per query. First m and S in one pass over the keys (online, Milakov and
// Gimelshein 2018), each lane for its own keys; then the weights and the output.
#pragma once

#include "engine/ops/attention/attention_cuda.cuh"

namespace sink::cuda {

// m_i and S_i, in all lanes.
template <class Op, class X>
__device__ void row_sums(const Op& op, const AttentionQuery<X>& query, float& m, float& S) {
  std::int64_t keys = query.keys();
  m = first_m(op, static_cast<float>(keys));
  S = 0;
  auto add = [&](float s) {
    float raised = raised_m(op, m, s);
    AttentionRow<Op, float> row(op, raised);
    if (raised > m) S *= row.r_factor(m - raised);
    S += row.r(s - raised);
    m = raised;
  };
  for (std::int64_t n = lane_of_thread(); n < keys; n += kWarp) add(query.score(query.key(n)));
  if (query.a.has_extra_key() && lane_of_thread() == 0) add(query.extra_score());
  if constexpr (ShiftsByMax<Op>) {
    float largest = warp_max(m);
    if (largest > m) S *= AttentionRow<Op, float>(op, largest).r_factor(m - largest);
    m = largest;
  }
  S = warp_sum(S);
}

template <class Op, class X>
__global__ void attention_kernel(Op op, AttentionArguments<X> a, X* o_BHTD, float* m_BHT, float* S_BHT) {
  std::int64_t bht = row_of_warp();
  if (bht >= a.B * a.H * a.T) return;
  AttentionQuery<X> query(a, bht);
  std::int64_t keys = query.keys();
  float m, S;
  row_sums(op, query, m, S);

  AttentionWeights<Op> weights(op, m, S, keys);
  WarpSums o(0, 1, a.D);
  for (std::int64_t first = 0; first < keys; first += kWarp) {
    std::int64_t n = first + lane_of_thread();
    o.of_lanes[lane_of_thread()] = n < keys ? weights.a(query.score(query.key(n))) : 0;
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
  o.write(1, o_BHTD + bht * a.D);
  if (lane_of_thread() == 0) {
    m_BHT[bht] = m;
    S_BHT[bht] = S;
  }
}

template <class X, class Op>
void attention_as(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionConfig& config,
                  Tensor& o, Tensor& m, Tensor& S) {
  Grid grid = grid_of_rows(m.size());
  grid.shared_bytes = WarpSums::bytes(1, q.dim(3));
  launch(grid, attention_kernel<Op, X>, op, attention_arguments<X>(q, k, v, config), o.device_data<X>(),
         m.device_data<float>(), S.device_data<float>());
}

template <class Op>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  with_real<float, bf16>(q_BHTD.dtype(), [&](auto zero) {
    attention_as<decltype(zero)>(op, q_BHTD, k_BGKD, v_BGKD, config, o_BHTD, m_BHT, S_BHT);
  });
}

}  // namespace sink::cuda
