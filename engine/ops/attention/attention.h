// Attention: the output of a query is the weighted sum of the values of the keys that it sees. An operation
// (op/attention_op.h) makes the weights from the scores.
//
//     s_ij = scale q_i . k_j + bias_h[max(0, i - j)]     over the n_i keys j that query i sees (engine/key_range.h)
//     m_i  = what the operation subtracts, for softmax the largest s_ij;   x_ij = s_ij - m_i
//     S_i  = sum_j r(x_ij)               r is g in most operations; for softmax both are e^x. Where m_i is a threshold
//                                        (sum_j g(x_ij) = 1), r is g'
//     w_ij = g(x_ij) / z(S_i, n_i)
//     a_ij = post(w_ij)
//     o_i  = sum_j a_ij v_j
//
// The extra key is an additional key without a position, which every query sees. Its score is scale q_i . k*_h or a
// given logit. It takes part in m, S and o like any key, but n does not count it.
//
// Shapes: B batch, H head, T queries, K keys, D head width, G key and value heads, a divisor of H: query head h uses
// key head h / (H / G). i and j above are positions: the queries have first_position + 0 ... T - 1, the keys 0 ... K -
// 1, and every query has a key at its position: first_position + T <= K. In training first_position = 0 and T = K;
// generation computes one query, or a chunk of them, against all keys so far.
//
// All tensors are contiguous. q, k, v, o and their gradients share one type: F32, BF16 (weights and sums are computed
// in F32) or F64 (the reference). m, S, the bias, the extra key and their gradients have accumulate_type of it. No T x
// K matrix is ever stored (FlashAttention: Dao et al. 2022). Results have the same bits in every run and with any
// number of threads. So do o, m and S when the queries are computed in chunks of any lengths, and dq where post is the
// identity and m no threshold.
#pragma once

#include <optional>

#include "engine/implementation.h"
#include "engine/key_range.h"
#include "engine/tensor.h"

namespace sink {

// A vector k* or a logit (not both), and a value v*, zero where undefined.
struct AttentionExtraKey {
  Tensor k_HD = {}, logit_H = {}, v_HD = {};
  bool present() const { return k_HD.defined() || logit_H.defined(); }
};

struct AttentionConfig {
  double scale = 1;  // 1 / sqrt(D) in the paper
  KeyRange range = {};
  // I32 (B, K - range.lead), on the same device: for each key after the first `lead`, the key where its document
  // begins, both counted from `lead`; each row is non-decreasing. A query sees its own document and the prefix.
  // Undefined: all keys are one document.
  Tensor document_starts_BK = {};
  std::int64_t first_position = 0;  // of the first query
  Tensor bias_HT = {};              // by distance, at least first_position + T columns; undefined: none
  bool bias_gradient = true;        // false: dbias may be left undefined, which saves a product on the CUDA device
  AttentionExtraKey extra_key = {};

  // The keys that queries of sequence b see.
  KeyRange range_of(std::int64_t b) const;
  // With all tensors on the CPU, the real ones in the type `real`.
  AttentionConfig on_cpu(DType real) const;
};

// Computes o_BHTD, and the row shift m_BHT and row sum S_BHT, which the functions below need.
template <class Op>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT);

// Each has the shape and type of its tensor; undefined where the configuration has none.
struct AttentionGradients {
  Tensor dq_BHTD, dk_BGKD, dv_BGKD, dbias_HT, dextra_k_HD, dextra_logit_H, dextra_v_HD;
};

// The gradients for the upstream gradient do_BHTD; needs the forward's inputs and outputs.
//     da_ij = do_i . v_j,  dw_ij = post'(w_ij) da_ij,  D_i = sum_j w_ij dw_ij   (do_i . o_i where post is the identity)
//     ds_ij = (g'(x_ij) dw_ij - r'(x_ij) z' D_i) / z
//     dq_i = scale sum_j ds_ij k_j,  dk_j = scale sum_i ds_ij q_i,  dv_j = sum_i a_ij do_i
//     dbias_h[d] = sum of ds_ij over the pairs with max(0, i - j) = d
// m_i gets no gradient: where it is the row maximum, the weights do not depend on it. Where it is a threshold, its
// gradient is the term of D_i:
//     D_i = sum_j g'(x_ij) dw_ij,  ds_ij = g'(x_ij) (dw_ij - D_i / S_i)
template <class Op>
AttentionGradients attention_backward(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGKD,
                                      const Tensor& v_BGKD, const Tensor& o_BHTD, const Tensor& m_BHT,
                                      const Tensor& S_BHT, const AttentionConfig& config);

// The statistics of the attention pattern, in F64. A proxy weight is |a_ij| / (sum_j |a_ij| + 1e-8), or |a_ij| over the
// operation's proxy_divisor (attention_op.h): 1 where rows sum to one. The sum includes the extra key.
struct AttentionStatistics {
  Tensor column_raw_BHX;                // sum_i a_ij of the first X keys
  Tensor column_proxy_BHX;              // the same for the proxy weights
  Tensor extra_raw_BH, extra_proxy_BH;  // the same for the extra key; 0 without one
  Tensor row_sum_BH;                    // mean_i sum_j a_ij, without the extra key
  Tensor entropy_BH;  // mean_i of -sum_j p log p over the proxy weights p and the extra key's (natural logarithm)
  // The factors of the scores: means of q_i . k_j, |q_i| |k_j| and their cosine (0 for a vector of length 0), over the
  // queries i > 0 that see key 0, and over all pairs i > 0, j > 0. Zero where there is no pair.
  Tensor key1_dot_BH, key1_norms_BH, key1_cosine_BH;
  Tensor other_dot_BH, other_norms_BH, other_cosine_BH;
  // The share of the first key in the output, by the norms of the weighted values: mean over the queries i > 0 that see
  // key 0 of |a_i0| |v_0| / sum_j |a_ij| |v_j|, the extra key among the j (Kobayashi et al. 2020, section 3). Zero
  // where there is no such query; a row whose sum is zero has a share of zero.
  Tensor value_share_BH;

  AttentionStatistics to(Device device) const;
};

// A second pass over q, k and the norms of v with m and S of the forward pass. n_columns is X, at most K.
template <class Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                                         const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                                         std::int64_t n_columns);

// What every key of every head receives, in F64 on the CPU, computed in memory that is linear in K. The proxy weights
// p_ij are |a_ij| / sum_j |a_ij|, zero in a row of zeros; the sum includes the extra key.
struct AttentionKeySums {
  Tensor raw_BHK, proxy_BHK;            // sum_i a_ij, sum_i p_ij
  Tensor largest_BHK;                   // max_i p_ij
  Tensor by_distance_BHK;               // [d]: the sum of p_ij over the pairs with i - j = d
  Tensor extra_raw_BH, extra_proxy_BH;  // sums of the extra key; 0 without one
  Tensor row_sum_BH;                    // mean_i sum_j a_ij, without the extra key
};

// A second pass over q and k with m and S of the forward pass.
template <class Op>
AttentionKeySums attention_key_sums(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                                    const Tensor& S_BHT, const AttentionConfig& config);

// All weights a_ij of one sequence and head, F64 (T, E + K); zero where query i does not see key j. E is 1 with an
// extra key, whose weights are the first column, else 0. For figures and inspection.
template <class Op>
Tensor attention_pattern(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                         const Tensor& S_BHT, const AttentionConfig& config, std::int64_t b, std::int64_t h);

// The functions above are declared here and compiled once for each operation, in a source of its own that includes
// attention_dispatch.h: of an operation of the library in one that attention.cmake makes, of another one in that of its
// ablation.
#define SINK_ATTENTION_KERNEL_TEMPLATES(Op)                                                                            \
  template void attention<Op>(const Op&, const Tensor&, const Tensor&, const Tensor&, const AttentionConfig&, Tensor&, \
                              Tensor&, Tensor&); /* attention_node.h has another one, of Vars */                       \
  template decltype(attention_backward<Op>) attention_backward<Op>;                                                    \
  template decltype(attention_statistics<Op>) attention_statistics<Op>;                                                \
  template decltype(attention_key_sums<Op>) attention_key_sums<Op>;
#define SINK_ATTENTION_TEMPLATES(Op)  \
  SINK_ATTENTION_KERNEL_TEMPLATES(Op) \
  template decltype(attention_pattern<Op>) attention_pattern<Op>;

}  // namespace sink
