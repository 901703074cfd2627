// Placement policy: x + attention(norm_1(x)) + feed_forward(norm_2(x)), both sublayers beside each other (GPT-J, Wang
// and Komatsuzaki 2021; GPT-NeoX, Black et al. 2022, section 2.1).
#pragma once

#include "autograd/ops/add_node.h"
#include "model/forward_context.h"
#include "model/placement/one_norm.h"

namespace sink {

struct ParallelResidual {
  static std::string name() { return "ParallelResidual"; }
  static constexpr bool kFinalNorm = true;

  template <class Norm>
  using Norms = OneNorm<Norm>;

  template <class Attention, class FeedForward>
  static Var block(const Var& x_BTC, const Attention& attention, const FeedForward& feed_forward,
                   const ForwardContext& ctx) {
    Var u_BTC = add(x_BTC, attention(attention.norm(x_BTC), ctx));
    return add(u_BTC, feed_forward(feed_forward.norm(x_BTC), ctx));
  }
};

}  // namespace sink
