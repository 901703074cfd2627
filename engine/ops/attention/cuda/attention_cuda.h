// Attention on the CUDA device, F32 and BF16, computed in float. Each operation is compiled once, in a .cu file that
// CMake generates.
#pragma once

#include "engine/ops/attention/attention.h"

namespace sink::cuda {

template <class Op>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT);

template <class Op>
AttentionGradients attention_backward(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGKD,
                                      const Tensor& v_BGKD, const Tensor& o_BHTD, const Tensor& m_BHT,
                                      const Tensor& S_BHT, const AttentionConfig& config);

template <class Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                                         const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                                         std::int64_t n_columns);

template <class Op>
AttentionKeySums attention_key_sums(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                                    const Tensor& S_BHT, const AttentionConfig& config);

}  // namespace sink::cuda
