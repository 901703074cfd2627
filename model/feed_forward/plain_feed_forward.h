// Feed-forward policies with two matrices: down(f(up(h))); both products with a bias where the model has them (Gu
// et al. 2025, Table 11).
#pragma once

#include "autograd/ops/activation_node.h"
#include "model/forward_context.h"
#include "model/layer/linear_layer.h"
#include "model/parameter_factory.h"

namespace sink {

template <class Function>
class PlainFeedForward {
 public:
  PlainFeedForward(ParameterFactory& make, const std::string& prefix, bool biases)
      : up_{make.linear(prefix + ".up.weight", make.sizes().feed_forward, make.sizes().width),
            make.linear_bias(prefix + ".up.bias", make.sizes().feed_forward, biases)},
        down_{make.depth_scaled_linear(prefix + ".down.weight", make.sizes().width, make.sizes().feed_forward,
                                       /*of_swiglu=*/false),
              make.linear_bias(prefix + ".down.bias", make.sizes().width, biases)} {}

  Var operator()(const Var& h_BTC, const ForwardContext& ctx = {}) const {
    Var y_BTF = activate<Function>(up_(h_BTC));
    ctx.hooks->projection_input(ctx.layer, SublayerKind::feed_forward, y_BTF);
    return down_(y_BTF);
  }

 private:
  LinearLayer up_;
  LinearLayer down_;
};

struct ReluFeedForward : PlainFeedForward<ReluFunction> {
  static std::string name() { return "Relu"; }
  using PlainFeedForward::PlainFeedForward;
};
struct GeluFeedForward : PlainFeedForward<GeluFunction> {
  static std::string name() { return "Gelu"; }
  using PlainFeedForward::PlainFeedForward;
};
struct GeluTanhFeedForward : PlainFeedForward<GeluTanhFunction> {
  static std::string name() { return "GeluTanh"; }
  using PlainFeedForward::PlainFeedForward;
};
struct SwishFeedForward : PlainFeedForward<SiluFunction> {
  static std::string name() { return "Swish"; }
  using PlainFeedForward::PlainFeedForward;
};

}  // namespace sink
