// Placement policy: x + f(norm(x)), the study's default (Gu et al. 2025, section 2).
#pragma once

#include "autograd/ops/add_node.h"
#include "model/pass.h"
#include "model/placement/one_norm.h"

namespace sink {

struct PreNorm {
  static std::string name() { return "PreNorm"; }
  static constexpr bool kFinalNorm = true;

  template <class Norm>
  using Norms = OneNorm<Norm>;

  template <class Attention, class FeedForward>
  static Var block(const Var& x_BTC, const Attention& attention, const FeedForward& feed_forward, const Pass& pass) {
    auto [u_BTC, h_BTC] = feed_forward.norm.of_sum(x_BTC, attention(attention.norm(x_BTC), pass));
    return add(u_BTC, feed_forward(h_BTC));
  }
};

}  // namespace sink
