// The forward pass in BF16 on GPUs of compute capability 9.0. Each operation is compiled once for sm_90a, in a .cu file
// that CMake generates from its line of attention_ops.def.
#pragma once

#include "engine/cuda/cuda_memory.h"
#include "engine/ops/attention/attention.h"

namespace sink::cuda {

// Whether the device has Hopper's instructions: code for sm_90a runs on 9.0 only.
inline bool has_hopper() { return compute_capability() == 90; }

// As attention(), for heads that fits_tiles() accepts.
template <class Op>
void attention_on_hopper(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                         const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT);

}  // namespace sink::cuda
