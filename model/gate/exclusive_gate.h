// Gate policy: exclusive self-attention (XSA, arXiv 2603.09078). The output of a head without its part along the own
// value of the token: z_i = o_i - (o_i . u_i) u_i with u_i = v_i / |v_i|.
#pragma once

#include "autograd/ops/activation_node.h"
#include "autograd/ops/add_node.h"
#include "autograd/ops/attention_node.h"
#include "autograd/ops/convert_node.h"
#include "autograd/ops/heads_node.h"
#include "engine/ops/attention/op/linear.h"
#include "engine/ops/norm/norm.h"
#include "model/parameter_factory.h"

namespace sink {

// y = x / sqrt(mean x^2), without a gain.
struct UnitRmsNode {
  Var x;
  Tensor gain, r;

  static constexpr const char* name = "unit_rms";
  void backward(const Tensor& dy) {
    Tensor unused = Tensor::empty_like(gain);
    auto [dx, accumulate] = x.gradient().target();
    rms_norm_backward(dy, x.value(), gain, r, dx, accumulate, unused, false);
  }
};

class ExclusiveGate {
 public:
  static std::string name() { return "ExclusiveGate"; }
  ExclusiveGate(ParameterFactory& make, const std::string&)
      : ones_D_(make.constant(Tensor::full({make.sizes().width_of_head()}, 1, DType::F64))), compute_(make.compute()) {}

  // (o . u) u is linear attention of o to u in a window of one key.
  Var operator()(const Var& o_BTE, const Var&, const AttentionInputs& inputs, const AttentionConfig& config,
                 Var (*join)(const Var& o_BHTD)) const {
    const Var y_BHTD = unmerge_heads(o_BTE, inputs.q_BHTD.value().dim(1)), u_BGKD = unit_rms(inputs.v_BGKD);
    const Var own = attention(Linear(), {y_BHTD, u_BGKD, u_BGKD}, 1.0 / static_cast<double>(ones_D_.size()),
                              {.window = 1}, config.document_starts_BK, config.first_position)
                        .o_BHTD;
    return add(o_BTE, activate<NegateFunction>(join(own)));
  }

 private:
  static constexpr double kEpsilon = 1e-12;  // added to the mean square, for a value of 0

  Var unit_rms(const Var& v_BGKD) const {
    const Var v = convert(v_BGKD, ones_D_.dtype());
    const Tensor& x = v.value();
    Tensor y = x.new_empty(x.shape(), compute_), r = x.new_empty({x.size() / x.dim(-1)}, x.dtype());
    rms_norm(x, ones_D_, y, r, kEpsilon);
    return record<UnitRmsNode>(y, v, ones_D_, r);
  }

  Tensor ones_D_;
  DType compute_;
};

}  // namespace sink
