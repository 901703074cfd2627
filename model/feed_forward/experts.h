// Feed-forward policies: a mixture of experts, of which a router chooses the top k for every token:
//   r = router(h), p = softmax of the k largest of r and 0 for the others, y = sum_e p_e down_e(glu_e(gate_up_e(h))).
//
// Experts are those of gpt-oss (2025), SwiGluExperts those of Mixtral (Jiang et al. 2024), whose softmax over all of r,
// divided by its sum over the chosen, is the same p. SwiGluExpertsOfSoftmax do not divide: p is the k largest of the
// softmax over all of r (OLMoE, Muennighoff et al. 2024). WithSharedExpert adds an expert that all tokens go through,
// times a learned gate: sigmoid(w . h) down(glu(gate_up(h))) (Qwen 1.5 MoE, 2024).
//
// Of weights stored in a file only the chosen experts are read and computed. With weights in memory, as in training,
// all experts are computed, and those that were not chosen are multiplied by zero: each step is one product with the
// matrices of all experts, stacked (gate_up) or side by side (down), and takes E / k times the work of a program that
// routes.
#pragma once

#include "autograd/ops/activation_node.h"
#include "autograd/ops/add_node.h"
#include "autograd/ops/expert_glu_node.h"
#include "autograd/ops/gate_node.h"
#include "autograd/ops/linear_node.h"
#include "autograd/ops/top_softmax_node.h"
#include "model/forward_context.h"
#include "model/layer/linear_layer.h"
#include "model/parameter_factory.h"

namespace sink {

template <ExpertUnit kUnit, bool kOfSoftmax = false>
class ExpertsOf {
 public:
  static std::string name() {
    return std::string(kUnit == ExpertUnit::swiglu ? "SwiGlu" : "") + "Experts" + (kOfSoftmax ? "OfSoftmax" : "");
  }
  static void check(const Sizes& sizes) {
    SINK_CHECK(sizes.top_k() <= sizes.expert_count(), "experts",
               "expected at most as many experts chosen (chosen_experts) as there are (experts), got " +
                   std::to_string(sizes.top_k()) + " of " + std::to_string(sizes.expert_count()),
               Exit::usage);
  }
  ExpertsOf(ParameterFactory& make, const std::string& prefix, bool biases)
      : chosen_(make.sizes().top_k()),
        router_{make.linear(prefix + ".router.weight", make.sizes().expert_count(), make.sizes().width, "E C"),
                make.linear_bias(prefix + ".router.bias", make.sizes().expert_count(), biases)},
        gate_up_{make.linear(prefix + ".gate_up.weight", make.sizes().expert_count() * 2 * make.sizes().feed_forward,
                             make.sizes().width),
                 make.linear_bias(prefix + ".gate_up.bias", make.sizes().expert_count() * 2 * make.sizes().feed_forward,
                                  biases)},
        down_(make.stacked_linear(prefix + ".down.weight", make.sizes().width, make.sizes().feed_forward,
                                  make.sizes().expert_count())),
        down_bias_CE_(
            make.linear_biases(prefix + ".down.bias", make.sizes().width, make.sizes().expert_count(), biases)) {}

  Var operator()(const Var& h_BTC, const ForwardContext& ctx = {}) const {
    Var r_BTE = router_(h_BTC), p_BTE = kOfSoftmax ? top_of_softmax(r_BTE, chosen_) : top_softmax(r_BTE, chosen_);
    Var gate_up = expert_linear(h_BTC, p_BTE, gate_up_.weight);  // (B, T, E 2F)
    if (gate_up_.bias) gate_up = add_bias(gate_up, *gate_up_.bias);
    Var y = expert_glu(gate_up, p_BTE, kUnit);  // (B, T, E F)
    ctx.hooks->projection_input(ctx.layer, SublayerKind::feed_forward, y);
    Var out_BTC = expert_linear_sum(y, p_BTE.value().dim(-1), down_);
    return down_bias_CE_ ? add(out_BTC, linear(p_BTE, *down_bias_CE_)) : out_BTC;
  }

 private:
  std::int64_t chosen_;
  LinearLayer router_, gate_up_;
  const Parameter& down_;
  const Parameter* down_bias_CE_;
};

using Experts = ExpertsOf<ExpertUnit::clamped_swiglu>;
using SwiGluExperts = ExpertsOf<ExpertUnit::swiglu>;
using SwiGluExpertsOfSoftmax = ExpertsOf<ExpertUnit::swiglu, true>;

template <class Routed>
class WithSharedExpert {
 public:
  static std::string name() { return Routed::name() + "AndShared"; }
  static void check(const Sizes& sizes) { Routed::check(sizes); }
  WithSharedExpert(ParameterFactory& make, const std::string& prefix, bool biases)
      : routed_(make, prefix, biases),
        gate_up_(make.linear(prefix + ".shared.gate_up.weight", 2 * make.sizes().shared_width(), make.sizes().width)),
        down_(make.linear(prefix + ".shared.down.weight", make.sizes().width, make.sizes().shared_width())),
        gate_(make.linear(prefix + ".shared.gate.weight", 1, make.sizes().width)) {}

  Var operator()(const Var& h_BTC, const ForwardContext& ctx = {}) const {
    Var y_BTS = activate<Glu<SiluFunction>>(linear(h_BTC, gate_up_));
    ctx.hooks->projection_input(ctx.layer, SublayerKind::shared_expert, y_BTS);
    return add(routed_(h_BTC, ctx), gate(linear(y_BTS, down_), linear(h_BTC, gate_)));
  }

 private:
  Routed routed_;
  const Parameter &gate_up_, &down_, &gate_;
};

}  // namespace sink
