// The statistics in BF16: a block of threads computes the scores of 64 queries with one tile of keys after another, by
// tensor cores as in the forward pass, and adds each to the sums of its row.
#pragma once

#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"
#include "engine/ops/attention/statistics/attention_row_statistics_cuda.cuh"

namespace sink::cuda {

template <int kWidth>
struct StatisticsShape {
  static constexpr int kQueries = kBlockRows, kKeys = 32;
  using Queries = SharedTile<kQueries, kWidth>;
  using Tiles = KeyTiles<kQueries, kKeys, kWidth>;
  using Scores = ScoreTile<false, kQueries, kKeys>;
  static constexpr std::size_t kBytes = Queries::kBytes + Tiles::kBytes;
  static_assert(kBytes <= kMaxSharedBytes);
};

template <class Sums, class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads)
    attention_row_statistics_tiles_kernel(Op op, AttentionArguments<bf16> a, Lengths lengths, const float* m_BHT,
                                          const float* S_BHT, RowOutputs out) {
  using Shape = StatisticsShape<kWidth>;
  AttentionHead head(a, static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x));
  // The last queries see the most keys, so their blocks start first.
  int first_t = static_cast<int>(gridDim.z - 1 - blockIdx.z) * Shape::kQueries;
  typename Shape::Queries q;
  typename Shape::Tiles tiles(head, head.queries(first_t, Shape::kQueries));
  allocate_shared(q, tiles.k, tiles.v, tiles.bias);
  q.copy(head.query_row(a.q_BHTD, first_t), head.T - first_t, a.D);

  // A lane has elements of two rows, e / 2. Rows after the last query see no key.
  auto t_of = [&](int half) { return first_t + warp_row() + fragment_row(2 * half); };
  auto bht_of = [&](int half) { return head.first_query_row + (t_of(half) < head.T ? t_of(half) : head.T - 1); };
  auto weights_of = [&](int half) {
    int t = bht_of(half) - head.first_query_row;
    return AttentionWeights<Op>(op, m_BHT[bht_of(half)], S_BHT[bht_of(half)],
                                head.range().count(t + head.shift, head.K));
  };
  AttentionWeights<Op> weights[2] = {weights_of(0), weights_of(1)};
  float q_length[2] = {lengths.q_BHT[bht_of(0)], lengths.q_BHT[bht_of(1)]};
  Sums sums[2];

  float extra_a[2] = {};
  if (a.has_extra_key()) {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      float score =
          a.extra_logit_H ? a.extra_logit_H[head.h] : extra_key_dot(head, bht_of(half) - head.first_query_row);
      extra_a[half] = weights[half].a(score);
      if (is_quad_leader())
        sums[half].add_extra_key(extra_a[half], a.extra_v_HD ? a.extra_v_HD + head.h * a.D : nullptr, a.D);
    }
  }

  tiles.template for_each<false>(head, first_t, [&](auto, int n, int stage) {
    TileSpan keys = tiles.keys(n);
    if (head.sees_nothing(head.queries(first_t + warp_row(), 16), keys)) return;
    AccumulatorFragment<Shape::kKeys> qk[1];
    multiply_transposed<Shape::kKeys>(qk, q, warp_row(), tiles.k[stage]);
    typename Shape::Scores scores(head, tiles.bias[stage], first_t, keys.begin, warp_row());
    for_each_accumulator<Shape::kKeys>([&](int c, int e) {
      if (!scores.sees(c, e)) return;
      int j = keys.begin + fragment_column(c, e);
      float weight = weights[e / 2].a(scores.score(qk[0][c][e], c, e));
      sums[e / 2].add_key(t_of(e / 2) + head.shift, j, qk[0][c][e], weight, q_length[e / 2],
                          lengths.k_BGK[head.first_key_row + j], lengths.v_BGK[head.first_key_row + j]);
      out.store_weight(bht_of(e / 2), j, weight);
    });
  });

  SINK_UNROLL
  for (int half = 0; half < 2; ++half) {
    int i = t_of(half) + head.shift;
    bool exists = t_of(half) < head.T;
    sums[half].finish(
        op, weights[half].z(), extra_a[half], i > 0 && head.range().sees(i, 0), [](float x) { return quad_sum(x); },
        [&](int n, float value) {
          if (exists && is_quad_leader()) out.store(n, bht_of(half), value);
        });
  }
}

template <class Sums, class Op>
void attention_row_statistics_in_tiles(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v,
                                       const Lengths& lengths, const Tensor& m, const Tensor& S,
                                       const AttentionConfig& config, const RowOutputs& out) {
  check_rows(q, k);
  auto a = attention_arguments<bf16>(q, k, v, config);
  with_tile_width(a.D, [&](auto width) {
    using Shape = StatisticsShape<width()>;
    Grid grid{tile_blocks(a.H, a.B, a.T, Shape::kQueries), kTileThreads, Shape::kBytes};
    launch(grid, attention_row_statistics_tiles_kernel<Sums, Op, width()>, op, a, lengths, m.device_data<float>(),
           S.device_data<float>(), out);
  });
}

}  // namespace sink::cuda
