// The forward pass on Hopper (FlashAttention-3: Shah et al. 2024). A block has 128 queries and three warpgroups. One
// warp of the first, the producer, copies tiles of 128 keys and values into two stages of shared memory; each of the
// others, the consumers, has 64 queries:
//
//     s = q k_n^T           wgmma, both operands in shared memory
//     o += a_{n-1} v_{n-1}  wgmma, a in registers; it runs while the weights a_n are computed from s
//
// The consumers issue their products in turn, so that one computes weights while the tensor cores multiply for the
// other. Heads are padded with zeros to kWidth, by the copies.
#pragma once

#include "engine/ops/attention/cuda/attention_hopper_cuda.h"
#include "engine/ops/attention/cuda/attention_hopper_mask_cuda.cuh"
#include "engine/ops/attention/cuda/attention_hopper_tiles_cuda.cuh"
#include "engine/ops/attention/cuda/attention_tiles_forward_cuda.cuh"

namespace sink::cuda {

// The 64 queries of a warpgroup.
template <class Op, int kWidth>
struct HopperConsumer {
  using Shape = HopperShape<kWidth>;
  using Fragment = AccumulatorFragment<Shape::kKeys>;

  const Op& op;
  const AttentionArguments<bf16>& a;
  const typename Shape::Tiles& tiles;
  int first_t, consumer;
  HopperMemory<kWidth> memory;
  QueryMask mask;
  ForwardRows<Op, kWidth, Shape::kKeys> rows;
  StageUse key_use, value_use;

  // The first of the warp's 16 queries in the block, the query in a lane's row e, and the same for rows after the last.
  __device__ int warp_row() const {
    return consumer * Shape::kRows + static_cast<int>(threadIdx.x) % kWarpgroup / kWarp * 16;
  }
  __device__ int t_of(int e) const { return first_t + warp_row() + fragment_row(e); }
  __device__ int clamped_t(const AttentionHead& head, int e) const { return t_of(e) < head.T ? t_of(e) : head.T - 1; }

  __device__ void count_keys(const AttentionHead& head, FastFloat (&keys)[2]) const {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half)
      keys[half] = static_cast<float>(head.range().count(clamped_t(head, 2 * half) + head.shift, head.K));
  }
  __device__ void extra_scores(const AttentionHead& head, float (&scores)[2]) const {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half)
      scores[half] = a.extra_logit_H ? a.extra_logit_H[head.h] : extra_key_dot(head, clamped_t(head, 2 * half));
  }

  // m and S of the extra key alone.
  __device__ void init_rows(const AttentionHead& head) {
    FastFloat keys[2];
    count_keys(head, keys);
    rows.init(op, keys);
    if (!a.has_extra_key()) return;
    float extra[2];
    extra_scores(head, extra);
    rows.add_extra_key(op, extra);
  }
  __device__ void init_output(const AttentionHead& head) {
    if (!a.extra_v_HD) return;
    float extra[2];
    extra_scores(head, extra);
    rows.init_output(op, extra, a.extra_v_HD + head.h * a.D, a.D);
  }
  __device__ void reduce_S(const AttentionHead& head) {
    FastFloat keys[2];
    count_keys(head, keys);
    rows.reduce_S(op, keys);
  }

  // The consumers' turns to issue products: one waits for its own, and gives the other one its next.
  __device__ void wait_for_turn() const { named_barrier_sync(1 + consumer, kConsumers * kWarpgroup); }
  __device__ void give_turn() const { named_barrier_arrive(2 - consumer, kConsumers * kWarpgroup); }

  // Issues s = q k^T.
  __device__ void multiply_keys(Fragment& s) const {
    int stage = key_use.stage();
    std::uint64_t q = matrix_descriptor<Shape::kRowBytes>(memory.queries(consumer), Shape::kQuerySlab),
                  k = matrix_descriptor<Shape::kRowBytes>(memory.keys(stage), Shape::kKeySlab);
    keep_in_order(s);
    wgmma_fence();
    SINK_UNROLL
    for (int d = 0; d < kWidth; d += 16) {
      int slab = d / Shape::kSlabColumns, bytes = d % Shape::kSlabColumns * 2;
      wgmma_rows(s, advanced(q, slab * Shape::kQuerySlab + bytes), advanced(k, slab * Shape::kKeySlab + bytes), d > 0);
    }
    wgmma_commit_group();
  }
  // Issues o += a v.
  __device__ void multiply_values(const OperandFragment<Shape::kKeys>& weights) {
    std::uint64_t v = matrix_descriptor<Shape::kRowBytes>(memory.values(value_use.stage()), Shape::kKeySlab);
    keep_in_order(rows.o);
    wgmma_fence();
    SINK_UNROLL
    for (int j = 0; j < Shape::kKeys / 16; ++j)
      wgmma_columns(rows.o, weights[j], advanced(v, j * 16 * Shape::kRowBytes));
    wgmma_commit_group();
  }

  __device__ static void wait_for(const StageUse& use, StageBarriers* barriers) {
    mbarrier_wait(&barriers[use.stage()].full, use.parity());
  }
  // The warp has used the stage.
  __device__ static void release(StageUse& use, StageBarriers* barriers) {
    sync_warp();
    if (lane_of_thread() == 0) mbarrier_arrive(&barriers[use.stage()].empty);
    ++use.n;
  }

  // Turns q . k into weights of the n-th tile, and adds them to S. Returns whether o must be rescaled, by `factors`.
  template <bool kSum, bool kWeigh>
  __device__ bool compute_weights(int n, Fragment& s, float (&factors)[2]) {
    int first_key = tiles.first_key(n);
    float factor = a.scale;  // of s, so that s_ij - m is one FFMA where there is no bias
    if (a.bias_HT || factor <= 0) {
      bool has_bias = a.bias_HT != nullptr;
      typename Shape::Bias bias = memory.bias(key_use.stage());
      for_each_accumulator<Shape::kKeys>([&](int m, int e) {
        float b = has_bias ? bias.at(warp_row() + fragment_row(e) - fragment_column(m, e) + Shape::kKeys - 1) : 0.0f;
        s[m][e] = fmaf(factor, s[m][e], b);
      });
      factor = 1;
    }
    bool sees_all = mask.sees_all(first_key, first_key + Shape::kKeys), rescales = false;
    if (!sees_all) mask.template mask_scores<Shape::kKeys>(s, first_key);
    if constexpr (kSum && ShiftsByMax<Op>)
      rows.raise_m(op, s, factor, [&](const float(&by)[2]) {
        rescales = true;
        factors[0] = by[0];
        factors[1] = by[1];
      });
    if (sees_all)
      rows.template compute_weights<true, kSum, kWeigh>(op, s, factor);
    else
      rows.template compute_weights<false, kSum, kWeigh>(op, s, factor);
    return rescales;
  }

  // m and S of operations whose weights need them.
  __device__ void sum_pass() {
    for (int n = 0; n < tiles.count(); ++n) {
      Fragment s;
      float factors[2];
      wait_for(key_use, memory.key_barriers());
      wait_for_turn();
      multiply_keys(s);
      give_turn();
      wgmma_wait_group<0>();
      keep_in_order(s);
      compute_weights<true, false>(n, s, factors);
      release(key_use, memory.key_barriers());
    }
  }

  // o += a v, and m and S where kSum. The values of a tile are multiplied with the keys of the next one.
  template <bool kSum>
  __device__ void weigh_pass() {
    OperandFragment<Shape::kKeys> weights;
    {
      Fragment s;
      float factors[2];
      wait_for(key_use, memory.key_barriers());
      wait_for_turn();
      multiply_keys(s);
      give_turn();
      wgmma_wait_group<0>();
      keep_in_order(s);
      if (compute_weights<kSum, true>(0, s, factors)) rows.rescale_output(factors);  // of the extra key
      release(key_use, memory.key_barriers());
      round_to_operand<Shape::kKeys>(s, weights);
    }
    for (int n = 1; n < tiles.count(); ++n) {
      Fragment s;
      float factors[2];
      wait_for(key_use, memory.key_barriers());
      wait_for_turn();
      multiply_keys(s);
      wait_for(value_use, memory.value_barriers());
      multiply_values(weights);
      give_turn();
      wgmma_wait_group<1>();
      keep_in_order(s);
      bool rescales = compute_weights<kSum, true>(n, s, factors);
      release(key_use, memory.key_barriers());
      wgmma_wait_group<0>();
      keep_in_order(rows.o);
      release(value_use, memory.value_barriers());
      if (rescales) rows.rescale_output(factors);
      round_to_operand<Shape::kKeys>(s, weights);
    }
    wait_for(value_use, memory.value_barriers());
    multiply_values(weights);
    wgmma_wait_group<0>();
    keep_in_order(rows.o);
  }

  // Of the queries that exist.
  __device__ void store_sums(const AttentionHead& head, float* m_BHT, float* S_BHT) const {
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      if (t_of(2 * half) >= head.T || !is_quad_leader()) continue;
      std::int64_t bht = head.first_query_row + t_of(2 * half);
      m_BHT[bht] = float(rows.m[half]);
      S_BHT[bht] = float(rows.S[half]);
    }
  }
  __device__ void store_output(const AttentionHead& head, bf16* o_BHTD) const {
    store_rows<kWidth>(
        rows.o, a.D, [&](int e) { return head.query_row(o_BHTD, t_of(e)); },
        [&](int e) { return HasPost<Op> ? 1.0f : float(rows.inverse_z[e / 2]); },
        [&](int e) { return t_of(e) < head.T; });
  }
};

template <int kWidth>
__device__ void produce_tiles(const AttentionArguments<bf16>& a, const TensorMap& q, const TensorMap& k,
                              const TensorMap& v, bool two_passes) {
  using Shape = HopperShape<kWidth>;
  BlockPlace place(static_cast<int>(a.H));
  AttentionHead head(a, place.b, place.h);
  typename Shape::Tiles tiles(head, head.queries(place.last_tile() * Shape::kQueries, Shape::kQueries));
  int H = static_cast<int>(a.H), G = static_cast<int>(a.G);
  HopperProducer<kWidth> producer{
      head, tiles, place.last_tile() * Shape::kQueries, place.b * H + place.h, place.b * G + place.h / (H / G), {},
      {},   {}};
  producer.load_queries(q);
  if (two_passes) producer.template load_pass<false>(k, v);
  producer.template load_pass<true>(k, v);
}

template <class Op, int kWidth>
__device__ void consume_tiles(const Op& op, const AttentionArguments<bf16>& a, bf16* o_BHTD, float* m_BHT,
                              float* S_BHT) {
  using Shape = HopperShape<kWidth>;
  BlockPlace place(static_cast<int>(a.H));
  AttentionHead head(a, place.b, place.h);
  typename Shape::Tiles tiles(head, head.queries(place.last_tile() * Shape::kQueries, Shape::kQueries));
  int consumer_index = warpgroup_of_thread() - 1;
  HopperConsumer<Op, kWidth> consumer{op, a,  tiles, place.last_tile() * Shape::kQueries, consumer_index, {}, {},
                                      {}, {}, {}};
  consumer.mask = QueryMask(head, consumer.first_t + consumer.warp_row());
  if (consumer_index == 1) consumer.give_turn();
  consumer.init_rows(head);
  mbarrier_wait(consumer.memory.queries_full(), 0);
  if constexpr (HasPost<Op>) {
    consumer.sum_pass();
    consumer.reduce_S(head);
    consumer.store_sums(head, m_BHT, S_BHT);
    consumer.init_output(head);
    consumer.template weigh_pass<false>();
  } else {
    consumer.init_output(head);
    consumer.template weigh_pass<true>();
  }
  if (consumer_index == 0) consumer.wait_for_turn();  // which the other one gave at its end
  BlockPlace same_place(static_cast<int>(a.H));
  AttentionHead same_head(a, same_place.b, same_place.h);
  if constexpr (!HasPost<Op>) {
    consumer.reduce_S(same_head);
    consumer.store_sums(same_head, m_BHT, S_BHT);
  }
  consumer.store_output(same_head, o_BHTD);
}

template <class Op, int kWidth>
__global__ void __launch_bounds__((1 + kConsumers) * kWarpgroup, 1)
    attention_hopper_kernel(Op op, AttentionArguments<bf16> a, SINK_GRID_CONSTANT TensorMap q,
                            SINK_GRID_CONSTANT TensorMap k, SINK_GRID_CONSTANT TensorMap v, bf16* o_BHTD, float* m_BHT,
                            float* S_BHT) {
  if (threadIdx.x == 0) HopperMemory<kWidth>().init_barriers();
  sync_block();
  if (threadIdx.x < kWarpgroup) {
    decrease_registers<24>();
    if (threadIdx.x < kWarp) produce_tiles<kWidth>(a, q, k, v, HasPost<Op>);
  } else {
    increase_registers<240>();
    consume_tiles<Op, kWidth>(op, a, o_BHTD, m_BHT, S_BHT);
  }
}

template <class Op>
void attention_on_hopper(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionConfig& config,
                         Tensor& o, Tensor& m, Tensor& S) {
  if constexpr (HasTiles<Op>) {
    check_rows(q, k);
    auto a = attention_arguments<bf16>(q, k, v, config);
    with_tile_width(a.D, [&](auto width) {
      using Shape = HopperShape<width()>;
      auto map = [&](const bf16* data, std::int64_t rows, std::int64_t heads, int box_rows) {
        return tensor_map(data, {a.D, rows, heads}, {Shape::kSlabColumns, box_rows, 1}, Shape::kRowBytes);
      };
      Grid grid{hopper_blocks(a.B * a.H, 2 * a.K * a.D * a.G / a.H, a.T, Shape::kQueries),
                (1 + kConsumers) * kWarpgroup, HopperMemory<width()>::kBytes};
      launch(grid, attention_hopper_kernel<Op, width()>, op, a, map(a.q_BHTD, a.T, a.B * a.H, Shape::kRows),
             map(a.k_BGKD, a.K, a.B * a.G, Shape::kKeys), map(a.v_BGKD, a.K, a.B * a.G, Shape::kKeys),
             o.device_data<bf16>(), m.device_data<float>(), S.device_data<float>());
    });
  }
}

}  // namespace sink::cuda
