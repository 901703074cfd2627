// The backward pass on the tensor cores. Every gradient has one owner, so nothing is added by two: a block of 64
// queries for dq, a block of 64 keys for dk and dv, a head and a diagonal of tiles for dbias. Each computes the scores
// that it needs once more: seven products of tiles in place of the five of FlashAttention-2 (Dao 2023), whose blocks of
// keys add to dq in whatever order they come.
#pragma once

#include "engine/ops/attention/cuda/attention_gradients_cuda.cuh"
#include "engine/ops/attention/cuda/attention_tiles_dbias_cuda.cuh"
#include "engine/ops/attention/cuda/attention_tiles_dk_dv_cuda.cuh"
#include "engine/ops/attention/cuda/attention_tiles_dq_cuda.cuh"

namespace sink::cuda {

template <class Op>
AttentionGradients attention_backward_in_tiles(const Op& op, const Tensor& grad_o, const Tensor& q, const Tensor& k,
                                               const Tensor& v, const Tensor& o, const Tensor& m, const Tensor& S,
                                               const AttentionConfig& config) {
  AttentionGradients gradients = empty_gradients(q, k, config);
  Tensor row_D = Tensor::empty_like(m), extra_ds, extra_a;
  if (config.extra_key.present()) extra_ds = Tensor::empty_like(m), extra_a = Tensor::empty_like(m);
  AttentionBackward<bf16> in{attention_arguments<bf16>(q, k, v, config),
                             grad_o.device_data<bf16>(),
                             o.device_data<bf16>(),
                             m.device_data<float>(),
                             S.device_data<float>(),
                             row_D.device_data<float>()};
  auto blocks = [](std::int64_t rows, std::int64_t heads) {
    return blocks_for(rows, kOwned) * static_cast<unsigned>(heads);
  };
  with_tile_width(in.a.D, [&](auto width) {
    constexpr int kWidth = width();
    launch({blocks(in.a.T, in.a.B * in.a.H), kTileThreads, QueryGradients<Op, kWidth>::kBytes},
           attention_tiles_dq_kernel<Op, kWidth>, op, in, gradients.dq_BHTD.device_data<bf16>(),
           extra_ds.defined() ? extra_ds.device_data<float>() : nullptr,
           extra_a.defined() ? extra_a.device_data<float>() : nullptr);
    launch({blocks(in.a.K, in.a.B * in.a.G), kTileThreads, KeyGradients<Op, kWidth>::kBytes},
           attention_tiles_dk_dv_kernel<Op, kWidth>, op, in, gradients.dk_BGKD.device_data<bf16>(),
           gradients.dv_BGKD.device_data<bf16>());
    if (gradients.dbias_HT.defined()) bias_gradient_in_tiles<Op, kWidth>(op, in, gradients.dbias_HT);
  });
  if (config.extra_key.present()) sum_extra_gradients(in, extra_ds, extra_a, gradients);
  return gradients;
}

}  // namespace sink::cuda
