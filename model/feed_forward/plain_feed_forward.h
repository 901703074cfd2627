// Feed-forward policies with two matrices: down(f(up(h))), no biases (Gu et al. 2025, Table 11).
#pragma once

#include "autograd/ops/activation_node.h"
#include "autograd/ops/linear_node.h"
#include "model/parameter_factory.h"

namespace sink {

template <class Function>
class PlainFeedForward {
 public:
  PlainFeedForward(ParameterFactory& make, const std::string& prefix)
      : up_(make.linear(prefix + ".up.weight", make.sizes().feed_forward, make.sizes().width)),
        down_(make.depth_scaled_linear(prefix + ".down.weight", make.sizes().width, make.sizes().feed_forward)) {}

  Var operator()(const Var& h_BTC) const {
    Var y_BTF = activate<Function>(linear(h_BTC, up_));
    return linear(y_BTF, down_);
  }

 private:
  const Parameter& up_;
  const Parameter& down_;
};

struct ReluFeedForward : PlainFeedForward<ReluFunction> {
  static std::string name() { return "Relu"; }
  using PlainFeedForward::PlainFeedForward;
};
struct GeluFeedForward : PlainFeedForward<GeluFunction> {
  static std::string name() { return "Gelu"; }
  using PlainFeedForward::PlainFeedForward;
};
struct SwishFeedForward : PlainFeedForward<SiluFunction> {
  static std::string name() { return "Swish"; }
  using PlainFeedForward::PlainFeedForward;
};

}  // namespace sink
