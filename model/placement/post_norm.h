// Placement policy: norm(x + f(x)), as the first transformers had it (Gu et al. 2025, section 7.2).
#pragma once

#include "autograd/ops/add_node.h"
#include "model/pass.h"
#include "model/placement/one_norm.h"

namespace sink {

struct PostNorm {
  static std::string name() { return "PostNorm"; }
  static constexpr bool kFinalNorm = false;

  template <class Norm>
  using Norms = OneNorm<Norm>;

  // Massive activations live in the sum, not in what the norm makes of it: hence the probe sees both.
  template <class Attention, class FeedForward>
  static Var block(const Var& x_BTC, const Attention& attention, const FeedForward& feed_forward, const Pass& pass) {
    DType residual = x_BTC.value().dtype();
    Var u_BTC = attention.norm.of_sum(x_BTC, attention(x_BTC, pass), residual).y;
    auto [sum_BTC, y_BTC] = feed_forward.norm.of_sum(u_BTC, feed_forward(u_BTC, pass), residual);
    if (pass.probe) pass.probe->hidden_before_norm(pass.layer + 1, sum_BTC.value());
    return y_BTC;
  }
};

}  // namespace sink
