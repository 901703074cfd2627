// Fused causal attention with one of the operations of attention_op.h; saves two numbers a row, no map.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/attention/attention.h"

namespace sink {

template <class Op>
struct AttentionNode : Node {
  Var q_BHTD, k_BHTD, v_BHTD;
  Tensor o_BHTD, m_BHT, S_BHT;
  AttentionConfig config;

  const char* name() const override { return Op::name; }
  void backward() override {
    const Tensor& q = q_BHTD.value();
    const Tensor& k = k_BHTD.value();
    Tensor dq = Tensor::empty(q.shape(), q.dtype()), dk = Tensor::empty(k.shape(), k.dtype()),
           dv = Tensor::empty(k.shape(), k.dtype());
    attention_backward<Op>(output_grad(), q, k, v_BHTD.value(), o_BHTD, m_BHT, S_BHT, config, dq, dk, dv);
    if (q_BHTD.requires_grad()) q_BHTD.gradient().accumulate(std::move(dq));
    if (k_BHTD.requires_grad()) k_BHTD.gradient().accumulate(std::move(dk));
    if (v_BHTD.requires_grad()) v_BHTD.gradient().accumulate(std::move(dv));
  }
};

// The output, and the row statistics that measuring needs as well.
struct AttentionResult {
  Var o_BHTD;
  Tensor m_BHT, S_BHT;
};

template <class Op>
AttentionResult attention(const Var& q_BHTD, const Var& k_BHTD, const Var& v_BHTD, const AttentionConfig& config) {
  const Tensor& q = q_BHTD.value();
  DType row_type = q.dtype() == DType::F64 ? DType::F64 : DType::F32;
  Tensor o = Tensor::empty(q.shape(), q.dtype());
  Tensor m = Tensor::empty({q.dim(0), q.dim(1), q.dim(2)}, row_type), S = Tensor::empty(m.shape(), row_type);
  attention<Op>(q, k_BHTD.value(), v_BHTD.value(), config, o, m, S);
  Tape* tape = Tape::recording(q_BHTD, k_BHTD, v_BHTD);
  AttentionResult result{Var(o, tape), m, S};
  if (tape) {
    auto& node = tape->add<AttentionNode<Op>>(result.o_BHTD);
    node.q_BHTD = q_BHTD;
    node.k_BHTD = k_BHTD;
    node.v_BHTD = v_BHTD;
    node.o_BHTD = o;
    node.m_BHT = m;
    node.S_BHT = S;
    node.config = config;
  }
  return result;
}

}  // namespace sink
