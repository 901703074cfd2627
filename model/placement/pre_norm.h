// Placement policy: x + f(norm(x)), the study's default (Gu et al. 2025, section 2).
#pragma once

#include "model/forward_context.h"
#include "model/placement/one_norm.h"
#include "model/residual.h"

namespace sink {

struct PreNorm {
  static std::string name() { return "PreNorm"; }
  static constexpr bool kFinalNorm = true;

  template <class Norm>
  using Norms = OneNorm<Norm>;

  template <class Attention, class FeedForward>
  static Residual block(const Residual& x, const Attention& attention, const FeedForward& feed_forward,
                        const ForwardContext& ctx) {
    auto [x_BTC, normed_BTC] = x.normed(attention.norm);
    auto [u_BTC, h_BTC] = feed_forward.norm.of_sum(x_BTC, attention(normed_BTC, ctx));
    return {u_BTC, feed_forward(h_BTC, ctx)};
  }
};

}  // namespace sink
