// Feed-forward policies with a gate: down(f(gate(h)) * up(h)); every product with a bias where the model has them
// (Shazeer 2020; Gu et al. 2025, Table 11).
#pragma once

#include <type_traits>

#include "autograd/ops/glu_node.h"
#include "model/forward_context.h"
#include "model/layer/linear_layer.h"
#include "model/parameter_factory.h"

namespace sink {

template <class Function>
class GatedFeedForward {
 public:
  GatedFeedForward(ParameterFactory& make, const std::string& prefix, bool biases)
      : gate_up_{make.linear(prefix + ".gate_up.weight", 2 * make.sizes().feed_forward, make.sizes().width),
                 make.linear_bias(prefix + ".gate_up.bias", 2 * make.sizes().feed_forward, biases)},
        down_{make.depth_scaled_linear(prefix + ".down.weight", make.sizes().width, make.sizes().feed_forward,
                                       std::is_same_v<Function, SiluFunction>),
              make.linear_bias(prefix + ".down.bias", make.sizes().width, biases)} {}

  Var operator()(const Var& h_BTC, const ForwardContext& ctx = {}) const {
    Var gate_up_BTF2 = gate_up_(h_BTC);
    Var y_BTF = glu<Function>(gate_up_BTF2);
    ctx.hooks->projection_input(ctx.layer, SublayerKind::feed_forward, y_BTF);
    return down_(y_BTF);
  }

 private:
  LinearLayer gate_up_;
  LinearLayer down_;
};

struct SwiGlu : GatedFeedForward<SiluFunction> {
  static std::string name() { return "SwiGlu"; }
  using GatedFeedForward::GatedFeedForward;
};
struct ReGlu : GatedFeedForward<ReluFunction> {
  static std::string name() { return "ReGlu"; }
  using GatedFeedForward::GatedFeedForward;
};
struct GeGlu : GatedFeedForward<GeluFunction> {
  static std::string name() { return "GeGlu"; }
  using GatedFeedForward::GatedFeedForward;
};
struct GeGluTanh : GatedFeedForward<GeluTanhFunction> {
  static std::string name() { return "GeGluTanh"; }
  using GatedFeedForward::GatedFeedForward;
};

}  // namespace sink
