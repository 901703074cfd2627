// o = the gated delta rule of queries, keys and values.
#pragma once

#include "autograd/ops/add_bias_node.h"
#include "engine/implementation.h"
#include "engine/ops/delta_rule/delta_rule.h"

namespace sink {

struct DeltaRuleNode {
  Var qkv_BTE, a_BTH, b_BTH;
  const Parameter *log_rate_H, *bias_H;
  DeltaHeads heads;

  static constexpr const char* name = "delta_rule";
  void backward(const Tensor& dy) {
    Tensor dqkv = Tensor::empty_like(qkv_BTE.value()), da = Tensor::empty_like(a_BTH.value()),
           db = Tensor::empty_like(b_BTH.value());
    const Tensor& rates = log_rate_H->master();
    Tensor drate = rates.new_empty({dy.dim(0), heads.heads}, rates.dtype()), dbias = Tensor::empty_like(drate);
    delta_rule_backward(dy, qkv_BTE.value(), a_BTH.value(), b_BTH.value(), rates, bias_H->master(), heads, dqkv, da, db,
                        drate, dbias);
    AddBiasNode{{}, log_rate_H}.backward(drate);  // sums over sequences
    AddBiasNode{{}, bias_H}.backward(dbias);
    if (qkv_BTE.requires_grad()) qkv_BTE.gradient().accumulate(std::move(dqkv));
    if (a_BTH.requires_grad()) a_BTH.gradient().accumulate(std::move(da));
    if (b_BTH.requires_grad()) b_BTH.gradient().accumulate(std::move(db));
  }
};

// `state`: that before the first token, through which no gradient passes, and afterwards that after the last.
inline Var delta_rule(const Var& qkv_BTE, const Var& a_BTH, const Var& b_BTH, const Parameter& log_rate_H,
                      const Parameter& bias_H, const DeltaHeads& heads, Tensor& state_BHDD) {
  const Tensor& qkv = qkv_BTE.value();
  Tensor o = qkv.new_empty({qkv.dim(0), qkv.dim(1), heads.heads * heads.value_width}, qkv.dtype());
  delta_rule(qkv, a_BTH.value(), b_BTH.value(), log_rate_H.master(), bias_H.master(), heads, state_BHDD, o);
  return record<DeltaRuleNode>(o, qkv_BTE, a_BTH, b_BTH, &log_rate_H, &bias_H, heads);
}

}  // namespace sink
