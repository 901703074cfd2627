// Fused attention with any operation. Saves two values per row and no attention pattern.
#pragma once

#include "autograd/record.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/op/attention_op.h"

namespace sink {

// Those that are optional may be Vars of undefined tensors; see AttentionConfig for what they are.
struct AttentionInputs {
  Var q_BHTD, k_BGKD, v_BGKD;
  Var bias_HT = {}, extra_k_HD = {}, extra_logit_H = {}, extra_v_HD = {};

  bool requires_grad() const {
    return q_BHTD.requires_grad() || k_BGKD.requires_grad() || v_BGKD.requires_grad() || bias_HT.requires_grad() ||
           extra_k_HD.requires_grad() || extra_logit_H.requires_grad() || extra_v_HD.requires_grad();
  }
};

template <class Op>
struct AttentionNode {
  Op op;
  AttentionInputs inputs;
  Tensor o_BHTD, m_BHT, S_BHT;
  AttentionConfig config;

  static constexpr const char* name = operation_name<Op>();
  void backward(const Tensor& dy) {
    AttentionGradients gradients = attention_backward<Op>(op, dy, inputs.q_BHTD.value(), inputs.k_BGKD.value(),
                                                          inputs.v_BGKD.value(), o_BHTD, m_BHT, S_BHT, config);
    auto add_to = [](const Var& input, Tensor& gradient) {
      if (input.requires_grad()) input.gradient().accumulate(std::move(gradient));
    };
    add_to(inputs.q_BHTD, gradients.dq_BHTD);
    add_to(inputs.k_BGKD, gradients.dk_BGKD);
    add_to(inputs.v_BGKD, gradients.dv_BGKD);
    add_to(inputs.bias_HT, gradients.dbias_HT);
    add_to(inputs.extra_k_HD, gradients.dextra_k_HD);
    add_to(inputs.extra_logit_H, gradients.dextra_logit_H);
    add_to(inputs.extra_v_HD, gradients.dextra_v_HD);
  }
};

// The output, and what measuring needs as well.
struct AttentionResult {
  Var o_BHTD;
  Tensor m_BHT, S_BHT;
  AttentionConfig config;
};

template <class Op>
AttentionResult attention(const Op& op, const AttentionInputs& inputs, double scale, const KeyRange& range,
                          const Tensor& document_starts_BT = {}, std::int64_t first_position = 0) {
  const Tensor& q = inputs.q_BHTD.value();
  AttentionConfig config{.scale = scale,
                         .range = range,
                         .document_starts_BK = document_starts_BT,
                         .first_position = first_position,
                         .bias_HT = inputs.bias_HT.value(),
                         .bias_gradient = inputs.bias_HT.requires_grad(),
                         .extra_key = {.k_HD = inputs.extra_k_HD.value(),
                                       .logit_H = inputs.extra_logit_H.value(),
                                       .v_HD = inputs.extra_v_HD.value()}};
  DType row_type = accumulate_type(q.dtype());
  Tensor o = q.new_empty(q.shape(), q.dtype());
  Tensor m = q.new_empty({q.dim(0), q.dim(1), q.dim(2)}, row_type), S = q.new_empty(m.shape(), row_type);
  attention<Op>(op, q, inputs.k_BGKD.value(), inputs.v_BGKD.value(), config, o, m, S);
  return {record<AttentionNode<Op>>(o, op, inputs, o, m, S, config), m, S, config};
}

}  // namespace sink
