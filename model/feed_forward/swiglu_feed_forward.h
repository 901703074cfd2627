// Feed-forward policy: down(silu(gate(h)) * up(h)), no biases.
#pragma once

#include "autograd/ops/linear_node.h"
#include "autograd/ops/swiglu_node.h"
#include "model/parameter_factory.h"

namespace sink {

class SwiGlu {
 public:
  static constexpr const char* name = "SwiGlu";

  SwiGlu(ParameterFactory& make, const std::string& prefix)
      : gate_up_(make.linear(prefix + ".gate_up.weight", 2 * make.sizes().feed_forward, make.sizes().width)),
        down_(make.depth_scaled_linear(prefix + ".down.weight", make.sizes().width, make.sizes().feed_forward)) {}

  Var operator()(const Var& h_BTC) const {
    Var gate_up_BTF2 = linear(h_BTC, gate_up_);
    Var y_BTF = swiglu(gate_up_BTF2);
    return linear(y_BTF, down_);
  }

 private:
  const Parameter& gate_up_;
  const Parameter& down_;
};

}  // namespace sink
