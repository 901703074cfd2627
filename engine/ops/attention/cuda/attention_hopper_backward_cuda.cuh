// The backward pass on Hopper: dq, then dk and dv. Each kernel recomputes the scores, and adds in a fixed order.
#pragma once

#include "engine/ops/attention/cuda/attention_hopper_cuda.h"
#include "engine/ops/attention/cuda/attention_hopper_dk_dv_cuda.cuh"
#include "engine/ops/attention/cuda/attention_hopper_dq_cuda.cuh"

namespace sink::cuda {

template <class Op>
void attention_backward_on_hopper(const Op& op, const AttentionBackward<bf16>& in, AttentionGradients& gradients,
                                  float* extra_ds_BHT, float* extra_a_BHT) {
  if constexpr (HasTiles<Op>) {
    const AttentionArguments<bf16>& a = in.a;
    with_tile_width(a.D, [&](auto width) {
      using Dq = HopperDq<Op, width()>;
      using DkDv = HopperDkDv<Op, width()>;
      using Tile = HopperTile<width()>;
      TensorMaps queries{Tile::map(a.q_BHTD, a.D, a.T, a.B * a.H), Tile::map(in.do_BHTD, a.D, a.T, a.B * a.H)},
          keys{Tile::map(a.k_BGKD, a.D, a.K, a.B * a.G), Tile::map(a.v_BGKD, a.D, a.K, a.B * a.G)};
      constexpr unsigned kThreads = (1 + kConsumers) * kWarpgroup;
      Grid queries_grid{hopper_blocks(a.B * a.H, 2 * a.K * a.D * a.G / a.H, a.T, Dq::kQueries), kThreads,
                        Dq::Ring::kBytes},
          keys_grid{hopper_blocks(a.B * a.G, 2 * a.T * a.D * a.H / a.G, a.K, DkDv::kKeys), kThreads,
                    DkDv::Ring::kBytes};
      launch(queries_grid, attention_hopper_dq_kernel<Op, width()>, op, in, queries, keys,
             gradients.dq_BHTD.template device_data<bf16>(), extra_ds_BHT, extra_a_BHT);
      launch(keys_grid, attention_hopper_dk_dv_kernel<Op, width()>, op, in, queries, keys,
             gradients.dk_BGKD.template device_data<bf16>(), gradients.dv_BGKD.template device_data<bf16>());
    });
  }
}

}  // namespace sink::cuda
