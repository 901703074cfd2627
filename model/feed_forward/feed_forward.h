// Feed-forward policies with an activation f (Shazeer 2020; Gu et al. 2025, Table 11): down(f(up(h))), or with a gate
// down(f(gate(h)) * up(h)). Every product has a bias if `biases`.
#pragma once

#include <algorithm>
#include <type_traits>

#include "autograd/ops/activation_node.h"
#include "model/forward_context.h"
#include "model/layer/linear_layer.h"
#include "model/parameter_factory.h"

namespace sink {

// A string as a template argument.
template <std::size_t N>
struct PolicyName {
  char text[N];
  constexpr PolicyName(const char (&name)[N]) { std::copy_n(name, N, text); }
};

template <class Function, bool kGated, PolicyName kName>
class FeedForwardLayer {
 public:
  static std::string name() { return kName.text; }

  FeedForwardLayer(ParameterFactory& make, const std::string& prefix, bool biases)
      : up_{make.linear(prefix + kUp + ".weight", kWidth * make.sizes().feed_forward, make.sizes().width),
            make.linear_bias(prefix + kUp + ".bias", kWidth * make.sizes().feed_forward, biases)},
        down_{make.depth_scaled_linear(prefix + ".down.weight", make.sizes().width, make.sizes().feed_forward,
                                       /*of_swiglu=*/kGated && std::is_same_v<Function, SiluFunction>),
              make.linear_bias(prefix + ".down.bias", make.sizes().width, biases)} {}

  Var operator()(const Var& h_BTC, const ForwardContext& ctx = {}) const {
    Var y_BTF = activate<Activation>(up_(h_BTC));
    ctx.hooks->projection_input(ctx.layer, SublayerKind::feed_forward, y_BTF);
    return down_(y_BTF);
  }

 private:
  // gate(h) and up(h) are the halves of one product.
  static constexpr const char* kUp = kGated ? ".gate_up" : ".up";
  using Activation = std::conditional_t<kGated, Glu<Function>, Function>;
  static constexpr std::int64_t kWidth = kInputsOf<Activation>;

  LinearLayer up_, down_;
};

template <class Function, PolicyName kName>
using PlainFeedForward = FeedForwardLayer<Function, false, kName>;
using ReluFeedForward = PlainFeedForward<ReluFunction, "Relu">;
using ReluSquaredFeedForward = PlainFeedForward<ReluSquaredFunction, "ReluSquared">;
using GeluFeedForward = PlainFeedForward<GeluFunction, "Gelu">;
using GeluTanhFeedForward = PlainFeedForward<GeluTanhFunction, "GeluTanh">;
using SwishFeedForward = PlainFeedForward<SiluFunction, "Swish">;

template <class Function, PolicyName kName>
using GatedFeedForward = FeedForwardLayer<Function, true, kName>;
using SwiGlu = GatedFeedForward<SiluFunction, "SwiGlu">;
using ReGlu = GatedFeedForward<ReluFunction, "ReGlu">;
using GeGlu = GatedFeedForward<GeluFunction, "GeGlu">;
using GeGluTanh = GatedFeedForward<GeluTanhFunction, "GeGluTanh">;

}  // namespace sink
