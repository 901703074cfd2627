// Attention for one operation: checks the arguments and selects the implementation. Included only by the sources that
// CMake generates, one for each operation.
#pragma once

#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/cpu/attention_backward_cpu.h"
#include "engine/ops/attention/cpu/attention_cpu.h"
#include "engine/ops/attention/cuda/attention_cuda.h"
#include "engine/ops/attention/op/attention_op_check.h"
#include "engine/ops/attention/ref/attention_ref.h"
#include "engine/ops/attention/statistics/attention_statistics_cpu.h"
#include "engine/ops/attention/statistics/attention_statistics_ref.h"
#include "engine/ops/attention/statistics/key_sums_cpu.h"

namespace sink {

template <>
struct UpcastF64<const AttentionConfig> {
  AttentionConfig wide;
  explicit UpcastF64(const AttentionConfig& given) : wide(given.on_cpu(DType::F64)) {}
  const AttentionConfig& argument() const { return wide; }
  void round_back() {}
};

template <class Op>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  attention_check::inputs(q_BHTD, k_BGKD, config);
  attention_check::like(v_BGKD, "v", k_BGKD, "k");
  attention_check::like(o_BHTD, "o", q_BHTD, "q");
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  SINK_SELECT(q_BHTD, attention<Op>)(op, q_BHTD, k_BGKD, v_BGKD, config, o_BHTD, m_BHT, S_BHT);
}

template <class Op>
AttentionGradients attention_backward(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGKD,
                                      const Tensor& v_BGKD, const Tensor& o_BHTD, const Tensor& m_BHT,
                                      const Tensor& S_BHT, const AttentionConfig& config) {
  attention_check::inputs(q_BHTD, k_BGKD, config);
  attention_check::like(v_BGKD, "v", k_BGKD, "k");
  attention_check::like(do_BHTD, "do", q_BHTD, "q");
  attention_check::like(o_BHTD, "o", q_BHTD, "q");
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  AttentionGradients gradients =
      SINK_SELECT(q_BHTD, attention_backward<Op>)(op, do_BHTD, q_BHTD, k_BGKD, v_BGKD, o_BHTD, m_BHT, S_BHT, config);
  // The reference computes in F64; its results are rounded once.
  DType real = q_BHTD.dtype(), sum = accumulate_type(real);
  for (Tensor* x : {&gradients.dq_BHTD, &gradients.dk_BGKD, &gradients.dv_BGKD}) *x = x->to(real);
  for (Tensor* x : {&gradients.dbias_HT, &gradients.dextra_k_HD, &gradients.dextra_logit_H, &gradients.dextra_v_HD})
    if (x->defined()) *x = x->to(sum);
  return gradients;
}

template <class Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                                         const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                                         std::int64_t n_columns) {
  attention_check::inputs(q_BHTD, k_BGKD, config);
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  attention_check::columns(n_columns, k_BGKD);
  return SINK_SELECT(q_BHTD, attention_statistics<Op>)(op, q_BHTD, k_BGKD, v_BGKD, m_BHT, S_BHT, config, n_columns);
}

template <class Op>
AttentionKeySums attention_key_sums(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                                    const Tensor& S_BHT, const AttentionConfig& config) {
  attention_check::inputs(q_BHTD, k_BGKD, config);
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  return SINK_SELECT(q_BHTD, attention_key_sums<Op>)(op, q_BHTD, k_BGKD, m_BHT, S_BHT, config);
}

template <class Op>
Tensor attention_pattern(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                         const Tensor& S_BHT, const AttentionConfig& config, std::int64_t b, std::int64_t h) {
  attention_check::inputs(q_BHTD, k_BGKD, config);
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  attention_check::head(b, h, q_BHTD);
  // Only the reference computes the pattern.
  const attention_check::OneHead one = attention_check::one_head(q_BHTD, k_BGKD, m_BHT, S_BHT, config, b, h);
  return ref::attention_pattern(op, one.q_BHTD, one.k_BGKD, one.m_BHT, one.S_BHT, one.config, 0, 0);
}

}  // namespace sink
