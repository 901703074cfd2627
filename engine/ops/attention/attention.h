// Attention: every query mixes the values of the keys it sees, weighted by an operation of attention_op.h.
//
//     s_ij = scale q_i . k_j                 over the keys j that query i sees (engine/key_range.h)
//     m_i  = max_j s_ij if Op::shift_by_row_max, else 0
//     S_i  = sum_j g(s_ij - m_i)
//     a_ij = g(s_ij - m_i) / z(S_i)
//     o_i  = sum_j a_ij v_j
//
// Shapes: B batch, H head, T position, D head width; all tensors contiguous. q, k, v, o and their gradients share one
// type: F32, BF16 (sums and weights' mathematics in F32) or F64 (the reference). m and S are F32, or F64 beside F64.
// No T x T matrix is ever stored. Results have the same bits in every run and with any number of threads.
#pragma once

#include "engine/key_range.h"
#include "engine/ops/attention/attention_op.h"
#include "engine/tensor.h"

namespace sink {

template <class Op>
inline constexpr bool listed_in_attention_ops_def = false;
#define SINK_ATTENTION_OP(Op) \
  template <>                 \
  inline constexpr bool listed_in_attention_ops_def<Op> = true;
#include "engine/ops/attention/attention_ops.def"

// Only listed operations are compiled (attention.cpp): without this a forgotten line would be an undefined reference.
template <class Op>
concept AttentionOp = listed_in_attention_ops_def<Op>;

struct AttentionConfig {
  double scale = 1;  // 1 / sqrt(D) in the paper
  KeyRange range = {};
};

// Writes o_BHTD, and the row shift m_BHT and row sum S_BHT that the functions below take back.
template <AttentionOp Op>
void attention(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& v_BHTD, const AttentionConfig& config,
               Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT);

// Writes (does not add to) the gradients for the upstream gradient do_BHTD; needs the forward's inputs and outputs.
//     D_i = do_i . o_i,  da_ij = do_i . v_j,  ds_ij = g'(s_ij - m_i) (da_ij - z'(S_i) D_i) / z(S_i)
//     dq_i = scale sum_j ds_ij k_j,  dk_j = scale sum_i ds_ij q_i,  dv_j = sum_i a_ij do_i
// The row maximum gets no gradient: where it is subtracted, the weights do not depend on it.
template <AttentionOp Op>
void attention_backward(const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& v_BHTD,
                        const Tensor& o_BHTD, const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                        Tensor& dq_BHTD, Tensor& dk_BHTD, Tensor& dv_BHTD);

// What the study asks of the weights, in F64. A proxy weight is |a_ij| / (sum_j' |a_ij'| + 1e-8), what a_ij would be if
// rows summed to one, and a_ij itself where they do.
struct AttentionStatistics {
  Tensor column_raw_BHK;    // sum_i a_ij of the first K keys
  Tensor column_proxy_BHK;  // the same of the proxy weights
  Tensor row_mass_BH;       // mean_i sum_j a_ij
  Tensor entropy_BH;        // mean_i of -sum_j p log p over the proxy weights p (natural logarithm)
};

// A second pass over q and k with the forward's m and S; n_columns is K, at most T.
template <AttentionOp Op>
AttentionStatistics attention_statistics(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& m_BHT,
                                         const Tensor& S_BHT, const AttentionConfig& config, std::int64_t n_columns);

// All weights a_ij of one sequence and head, F64 (T, T); zero where query i does not see key j. For looking at.
template <AttentionOp Op>
Tensor attention_map(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& m_BHT, const Tensor& S_BHT,
                     const AttentionConfig& config, std::int64_t b, std::int64_t h);

#define SINK_ATTENTION_OP(Op)                                                                                        \
  extern template void attention<Op>(const Tensor&, const Tensor&, const Tensor&, const AttentionConfig&, Tensor&,   \
                                     Tensor&, Tensor&);                                                              \
  extern template void attention_backward<Op>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,            \
                                              const Tensor&, const Tensor&, const Tensor&, const AttentionConfig&,   \
                                              Tensor&, Tensor&, Tensor&);                                            \
  extern template AttentionStatistics attention_statistics<Op>(const Tensor&, const Tensor&, const Tensor&,          \
                                                               const Tensor&, const AttentionConfig&, std::int64_t); \
  extern template Tensor attention_map<Op>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,               \
                                           const AttentionConfig&, std::int64_t, std::int64_t);
#include "engine/ops/attention/attention_ops.def"

}  // namespace sink
