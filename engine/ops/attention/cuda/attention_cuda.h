// Attention on the CUDA device, F32 and BF16, computed in float. Compiled once per line of attention_ops.def, in a .cu
// file that CMakeLists.txt makes of it.
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

#define SINK_ATTENTION_CUDA_TEMPLATES(prefix, Op)                                                                      \
  prefix template void attention<Op>(const Op&, const Tensor&, const Tensor&, const Tensor&, const AttentionConfig&,   \
                                     Tensor&, Tensor&, Tensor&);                                                       \
  prefix template AttentionGradients attention_backward<Op>(const Op&, const Tensor&, const Tensor&, const Tensor&,    \
                                                            const Tensor&, const Tensor&, const Tensor&,               \
                                                            const Tensor&, const AttentionConfig&);                    \
  prefix template AttentionStatistics attention_statistics<Op>(const Op&, const Tensor&, const Tensor&, const Tensor&, \
                                                               const Tensor&, const Tensor&, const AttentionConfig&,   \
                                                               std::int64_t);

}  // namespace sink::cuda
