// The passes in BF16 on GPUs of compute capability 9.0. Each operation is compiled once for sm_90a, in a .cu file that
// CMake generates.
#pragma once

#include "engine/cuda/cuda_memory.h"
#include "engine/ops/attention/attention.h"

namespace sink::cuda {

template <class X>
struct AttentionBackward;

// Whether the device has Hopper's instructions: code for sm_90a runs on 9.0 only.
inline bool has_hopper() { return compute_capability() == 90; }

// The part of the L2 cache for what the blocks of a head have in common. As many heads start together as fit into it.
inline std::int64_t hopper_cache_bytes = 16 << 20;

// As attention(), for heads that fits_tiles() accepts and operations that have tiles.
template <class Op>
void attention_on_hopper(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                         const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT);

// Computes dq, dk, dv, and what the kernels of the other gradients load: 1 / z and z' D of each query and, where there
// is an extra key, ds_i* and a_i*.
template <class Op>
void attention_backward_on_hopper(const Op& op, const AttentionBackward<bf16>& in, AttentionGradients& gradients,
                                  float* extra_ds_BHT, float* extra_a_BHT);

}  // namespace sink::cuda

// Of one operation; with attention_hopper_forward_cuda.cuh and attention_hopper_backward_cuda.cuh.
#define SINK_HOPPER_KERNEL_TEMPLATES(Op)                              \
  template decltype(attention_on_hopper<Op>) attention_on_hopper<Op>; \
  template decltype(attention_backward_on_hopper<Op>) attention_backward_on_hopper<Op>;
