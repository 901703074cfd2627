// Fused attention with one of the operations of attention_op.h; saves two numbers a row, no map.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/attention/attention.h"

namespace sink {

// Those that are optional may be Vars of undefined tensors; see AttentionConfig for what they are.
struct AttentionInputs {
  Var q_BHTD, k_BGTD, v_BGTD;
  Var bias_HT = {}, slot_k_HD = {}, slot_logit_H = {}, slot_v_HD = {};
};

template <class Op>
struct AttentionNode : Node {
  Op op;
  AttentionInputs inputs;
  Tensor o_BHTD, m_BHT, S_BHT;
  AttentionConfig config;

  const char* name() const override { return Op::name; }
  void backward() override {
    AttentionGradients gradients =
        attention_backward<Op>(op, output_grad(), inputs.q_BHTD.value(), inputs.k_BGTD.value(), inputs.v_BGTD.value(),
                               o_BHTD, m_BHT, S_BHT, config);
    auto hand_on = [](const Var& input, Tensor& gradient) {
      if (input.requires_grad()) input.gradient().accumulate(std::move(gradient));
    };
    hand_on(inputs.q_BHTD, gradients.dq_BHTD);
    hand_on(inputs.k_BGTD, gradients.dk_BGTD);
    hand_on(inputs.v_BGTD, gradients.dv_BGTD);
    hand_on(inputs.bias_HT, gradients.dbias_HT);
    hand_on(inputs.slot_k_HD, gradients.dslot_k_HD);
    hand_on(inputs.slot_logit_H, gradients.dslot_logit_H);
    hand_on(inputs.slot_v_HD, gradients.dslot_v_HD);
  }
};

// The output, and what measuring needs as well.
struct AttentionResult {
  Var o_BHTD;
  Tensor m_BHT, S_BHT;
  AttentionConfig config;
};

template <class Op>
AttentionResult attention(const Op& op, const AttentionInputs& inputs, double scale, const KeyRange& range) {
  const Tensor& q = inputs.q_BHTD.value();
  AttentionConfig config{
      .scale = scale,
      .range = range,
      .bias_HT = inputs.bias_HT.value(),
      .slot = {
          .k_HD = inputs.slot_k_HD.value(), .logit_H = inputs.slot_logit_H.value(), .v_HD = inputs.slot_v_HD.value()}};
  DType row_type = q.dtype() == DType::F64 ? DType::F64 : DType::F32;
  Tensor o = Tensor::empty(q.shape(), q.dtype());
  Tensor m = Tensor::empty({q.dim(0), q.dim(1), q.dim(2)}, row_type), S = Tensor::empty(m.shape(), row_type);
  attention<Op>(op, q, inputs.k_BGTD.value(), inputs.v_BGTD.value(), config, o, m, S);
  Tape* tape = Tape::recording(inputs.q_BHTD, inputs.k_BGTD, inputs.v_BGTD, inputs.bias_HT, inputs.slot_k_HD,
                               inputs.slot_logit_H, inputs.slot_v_HD);
  AttentionResult result{Var(o, tape), m, S, config};
  if (tape) {
    auto& node = tape->add<AttentionNode<Op>>(result.o_BHTD);
    node.op = op;
    node.inputs = inputs;
    node.o_BHTD = o;
    node.m_BHT = m;
    node.S_BHT = S;
    node.config = config;
  }
  return result;
}

}  // namespace sink
