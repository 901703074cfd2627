// Gate policy: affine-scaled attention (Bae et al. 2026), weights alpha_i a_ij + beta_i in place of a_ij, with
//
//     alpha_i = logistic(w_h . h_i),   beta_i = (gamma_h - alpha_i) / n_i     n_i: the number of keys that query i sees
//
// so that rows which sum to one sum to gamma_h. In the paper gamma is a moving average of alpha, which is state besides
// the parameters; here it is learned, gamma_h = logistic(c_h). The paper has logistic next to a clipped line. What is
// measured are the weights a_ij.
#pragma once

#include "autograd/ops/activation_node.h"
#include "autograd/ops/add_bias_node.h"
#include "autograd/ops/add_node.h"
#include "autograd/ops/attention_node.h"
#include "engine/ops/attention/op/softmax.h"
#include "model/gate/output_gate.h"

namespace sink {

class AffineGate {
 public:
  static std::string name() { return "AffineGate"; }
  AffineGate(ParameterFactory& make, const std::string& prefix)
      : scale_(make.linear(prefix + ".gate.weight", make.sizes().heads, make.sizes().width)),
        row_sum_(*make.linear_bias(prefix + ".gate.bias", make.sizes().heads, true)) {}

  // alpha_i (o_i - mean_i) + gamma mean_i: sum_j beta_i v_j = (gamma - alpha_i) mean_i, with mean_i = sum_j v_j / n_i.
  Var operator()(const Var& o_BTE, const Var& h_BTC, const AttentionInputs& inputs, const AttentionConfig& config,
                 Var (*join)(const Var& o_BHTD)) const {
    const Var mean_BTE = join(mean_values(inputs, config));
    Var scale_BTH = linear(h_BTC, scale_);
    const Tensor& scale = scale_BTH.value();
    Var row_sum_BTH = add_bias(Var(scale.new_zeros(scale.shape(), scale.dtype())), row_sum_);
    return add(gate(add(o_BTE, activate<NegateFunction>(mean_BTE)), scale_BTH), gate(mean_BTE, row_sum_BTH));
  }

 private:
  // Of the keys that each query sees: softmax of scores that are all zero.
  static Var mean_values(const AttentionInputs& inputs, const AttentionConfig& config) {
    const Tensor& q = inputs.q_BHTD.value();
    AttentionInputs zero{Var(q.new_zeros(q.shape(), q.dtype())), Var(inputs.k_BGKD.value()), inputs.v_BGKD};
    return attention(Softmax(), zero, config.scale, config.range, config.document_starts_BK, config.first_position)
        .o_BHTD;
  }

  const Parameter &scale_, &row_sum_;
};

}  // namespace sink
