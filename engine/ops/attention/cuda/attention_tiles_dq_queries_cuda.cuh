// What the gradient of a query in BF16 needs besides tiles: its weights, the extra key's terms and do_i . o_i. The four
// lanes of a quad compute these together.
#pragma once

#include "engine/cuda/vectors.cuh"
#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

template <class Op>
struct DqQueries {
  const Op& op;
  const AttentionBackward<bf16>& in;
  AttentionHead head;

  __device__ AttentionWeights<Op> weights_of(int t) const {
    int bht = head.first_query_row + t;
    return {op, in.m_BHT[bht], in.S_BHT[bht], head.range().count(t + head.shift, head.K)};
  }
  __device__ float extra_score(int t) const {
    return head.a.extra_logit_H ? head.a.extra_logit_H[head.h] : extra_key_dot(head, t);
  }
  // do_i . v of the extra key
  __device__ float extra_da(int t) const {
    const AttentionArguments<bf16>& a = head.a;
    return a.extra_v_HD ? quad_dot(head.query_row(in.do_BHTD, t), a.extra_v_HD + head.h * a.D, a.D) : 0;
  }
  // do_i . o_i. Each lane of a quad reads 16 bytes at a time.
  __device__ float do_dot_o(int t) const {
    const bf16 *x = head.query_row(in.do_BHTD, t), *y = head.query_row(in.o_BHTD, t);
    float sum = 0;
    for (int d = lane_of_thread() % 4 * 8; d < head.D; d += 32) {
      Vector<float, 8> x8 = load_floats<8>(x + d), y8 = load_floats<8>(y + d);
      SINK_UNROLL
      for (int n = 0; n < 8; ++n) sum += x8[n] * y8[n];
    }
    return quad_sum(sum);
  }
  // The same of two queries, whose loads are all in flight together.
  template <int kWidth>
  __device__ void do_dot_o(const int (&t)[2], float (&sums)[2]) const {
    constexpr int kLoads = kWidth / 32;
    Vector<bf16, 8> x[2][kLoads], y[2][kLoads];
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      SINK_UNROLL
      for (int n = 0; n < kLoads; ++n) {
        int d = lane_of_thread() % 4 * 8 + 32 * n;
        if (d >= head.D) continue;
        x[half][n] = load_vector<8>(head.query_row(in.do_BHTD, t[half]) + d);
        y[half][n] = load_vector<8>(head.query_row(in.o_BHTD, t[half]) + d);
      }
    }
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      float sum = 0;
      SINK_UNROLL
      for (int n = 0; n < kLoads; ++n) {
        if (lane_of_thread() % 4 * 8 + 32 * n >= head.D) continue;
        SINK_UNROLL
        for (int i = 0; i < 8; ++i) sum += static_cast<float>(x[half][n][i]) * static_cast<float>(y[half][n][i]);
      }
      sums[half] = quad_sum(sum);
    }
  }
};

}  // namespace sink::cuda
