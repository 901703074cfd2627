// The backward pass in BF16, without atomics: dq has a block of threads for 128 queries, dk and dv one for 64 keys,
// dbias one for a head and a diagonal of tiles. Each kernel recomputes the scores: seven products of tiles in place of
// the five of FlashAttention-2 (Dao 2023), which adds to dq in no fixed order. On Hopper,
// attention_hopper_backward_cuda.cuh takes the place of the first two.
#pragma once

#include "engine/ops/attention/cuda/attention_gradients_cuda.cuh"
#include "engine/ops/attention/cuda/attention_hopper_cuda.h"
#include "engine/ops/attention/cuda/attention_tiles_dbias_cuda.cuh"
#include "engine/ops/attention/cuda/attention_tiles_dk_dv_cuda.cuh"
#include "engine/ops/attention/cuda/attention_tiles_dq_cuda.cuh"

namespace sink::cuda {

// dq, dk and dv.
template <class Op, int kWidth>
void gradients_in_tiles(const Op& op, const AttentionBackward<bf16>& in, AttentionGradients& gradients,
                        float* extra_ds_BHT, float* extra_a_BHT) {
  launch(
      {tile_blocks(in.a.H, in.a.B, in.a.T, DqShape<Op, kWidth>::kQueries), kTileThreads, DqShape<Op, kWidth>::kBytes},
      attention_tiles_dq_kernel<Op, kWidth>, op, in, gradients.dq_BHTD.device_data<bf16>(), extra_ds_BHT, extra_a_BHT);
  launch({tile_blocks(in.a.G, in.a.B, in.a.K, DkDvShape<kWidth>::kKeys), kTileThreads, DkDvShape<kWidth>::kBytes},
         attention_tiles_dk_dv_kernel<Op, kWidth>, op, in, gradients.dk_BGKD.device_data<bf16>(),
         gradients.dv_BGKD.device_data<bf16>());
}

template <class Op>
AttentionGradients attention_backward_in_tiles(const Op& op, const Tensor& grad_o, const Tensor& q, const Tensor& k,
                                               const Tensor& v, const Tensor& o, const Tensor& m, const Tensor& S,
                                               const AttentionConfig& config) {
  check_rows(q, k);
  return backward_with<bf16>(
      grad_o, q, k, v, o, m, S, config,
      [&](const AttentionBackward<bf16>& in, AttentionGradients& gradients, float* extra_ds, float* extra_a) {
        if (has_hopper()) attention_backward_on_hopper(op, in, gradients, extra_ds, extra_a);
        with_tile_width(in.a.D, [&](auto width) {
          if (!has_hopper()) gradients_in_tiles<Op, width()>(op, in, gradients, extra_ds, extra_a);
          if (gradients.dbias_HT.defined()) bias_gradient_in_tiles<Op, width()>(op, in, gradients.dbias_HT);
        });
      });
}

}  // namespace sink::cuda
