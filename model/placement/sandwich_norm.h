// Placement policy: x + norm(f(norm(x))), a norm before and after every sublayer (Ding et al. 2021).
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/ops/convert_node.h"
#include "model/forward_context.h"
#include "model/parameter_factory.h"

namespace sink {

struct SandwichNorm {
  static std::string name() { return "SandwichNorm"; }
  static constexpr bool kFinalNorm = true;

  template <class Norm>
  struct Norms {
    Norm norm, post_norm;

    Norms(ParameterFactory& make, const std::string& prefix)
        : norm(make, prefix + ".norm"), post_norm(make, prefix + ".post_norm") {}
  };

  template <class Attention, class FeedForward>
  static Var block(const Var& x_BTC, const Attention& attention, const FeedForward& feed_forward,
                   const ForwardContext& ctx) {
    DType residual = x_BTC.value().dtype();  // norms read no bf16
    Var branch_BTC = attention.post_norm(convert(attention(attention.norm(x_BTC), ctx), residual));
    auto [u_BTC, h_BTC] = feed_forward.norm.of_sum(x_BTC, branch_BTC);
    return add(u_BTC, feed_forward.post_norm(convert(feed_forward(h_BTC, ctx), residual)));
  }
};

}  // namespace sink
