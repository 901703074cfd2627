// Placement policy: norm(x + f(x)), as the first transformers had it (Gu et al. 2025, section 7.2).
#pragma once

#include "autograd/ops/add_node.h"
#include "model/forward_context.h"
#include "model/placement/one_norm.h"

namespace sink {

struct PostNorm {
  static std::string name() { return "PostNorm"; }
  static constexpr bool kFinalNorm = false;

  template <class Norm>
  using Norms = OneNorm<Norm>;

  // Massive activations live in the sum, not in what the norm makes of it: hence hooks see both.
  template <class Attention, class FeedForward>
  static Var block(const Var& x_BTC, const Attention& attention, const FeedForward& feed_forward,
                   const ForwardContext& ctx) {
    DType residual = x_BTC.value().dtype();
    Var u_BTC = attention.norm.of_sum(x_BTC, attention(x_BTC, ctx), residual).y;
    auto [sum_BTC, y_BTC] = feed_forward.norm.of_sum(u_BTC, feed_forward(u_BTC, ctx), residual);
    ctx.hooks->residual_before_norm(ctx.layer, sum_BTC.value());
    return y_BTC;
  }
};

}  // namespace sink
