// Feed-forward policies with a gate: down(f(gate(h)) * up(h)), no biases (Shazeer 2020; Gu et al. 2025, Table 11).
#pragma once

#include "autograd/ops/glu_node.h"
#include "autograd/ops/linear_node.h"
#include "model/parameter_factory.h"

namespace sink {

template <class Function>
class GatedFeedForward {
 public:
  GatedFeedForward(ParameterFactory& make, const std::string& prefix)
      : gate_up_(make.linear(prefix + ".gate_up.weight", 2 * make.sizes().feed_forward, make.sizes().width)),
        down_(make.depth_scaled_linear(prefix + ".down.weight", make.sizes().width, make.sizes().feed_forward)) {}

  Var operator()(const Var& h_BTC) const {
    Var gate_up_BTF2 = linear(h_BTC, gate_up_);
    Var y_BTF = glu<Function>(gate_up_BTF2);
    return linear(y_BTF, down_);
  }

 private:
  const Parameter& gate_up_;
  const Parameter& down_;
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

}  // namespace sink
