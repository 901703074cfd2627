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
  explicit UpcastF64(const AttentionConfig& given) : wide(given) {
    for (Tensor* x : {&wide.bias_HT, &wide.extra_key.k_HD, &wide.extra_key.logit_H, &wide.extra_key.v_HD})
      if (x->defined()) *x = x->to(DType::F64);
  }
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
  const Tensor q = q_BHTD.to(Device::cpu);
  AttentionConfig on_cpu = config;
  for (Tensor* x : {&on_cpu.document_starts_BK, &on_cpu.bias_HT, &on_cpu.extra_key.k_HD, &on_cpu.extra_key.logit_H,
                    &on_cpu.extra_key.v_HD})
    if (x->defined()) *x = x->to(Device::cpu);
  return select(q, &ref::attention_key_sums<Op>, &cpu::attention_key_sums<Op>,
                decltype(&cpu::attention_key_sums<Op>){})(op, q, k_BGKD.to(Device::cpu), m_BHT.to(Device::cpu),
                                                          S_BHT.to(Device::cpu), on_cpu);
}

template <class Op>
Tensor attention_pattern(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                         const Tensor& S_BHT, const AttentionConfig& config, std::int64_t b, std::int64_t h) {
  attention_check::inputs(q_BHTD, k_BGKD, config);
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  attention_check::head(b, h, q_BHTD);
  // Only the reference computes the pattern; it gets one head.
  std::int64_t H = q_BHTD.dim(1), G = k_BGKD.dim(1), g = h / (H / G);
  auto one_head = [](const Tensor& x, std::int64_t row) {  // of all leading axes but the last two as rows
    Shape shape =
        x.rank() == 4 ? Shape({x.dim(0) * x.dim(1), x.dim(2), x.dim(3)}) : Shape({x.dim(0) * x.dim(1), x.dim(2)});
    Shape one = x.rank() == 4 ? Shape({1, 1, x.dim(2), x.dim(3)}) : Shape({1, 1, x.dim(2)});
    return x.reshape(shape).rows(row, row + 1).reshape(one).to(Device::cpu).to(DType::F64);
  };
  AttentionConfig of_head = config;
  for (Tensor* x : {&of_head.bias_HT, &of_head.extra_key.k_HD, &of_head.extra_key.logit_H, &of_head.extra_key.v_HD})
    if (x->defined()) *x = x->rows(h, h + 1).to(Device::cpu).to(DType::F64);
  if (config.document_starts_BK.defined())
    of_head.document_starts_BK = config.document_starts_BK.rows(b, b + 1).to(Device::cpu);
  return ref::attention_pattern(op, one_head(q_BHTD, b * H + h), one_head(k_BGKD, b * G + g),
                                one_head(m_BHT, b * H + h), one_head(S_BHT, b * H + h), of_head, 0, 0);
}

}  // namespace sink
