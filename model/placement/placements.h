// Placement policies: how a block adds attention and feed-forward to the residual stream x, and where their norms are.
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/ops/convert_node.h"
#include "model/forward_context.h"
#include "model/parameter_factory.h"
#include "model/residual.h"

namespace sink {

// One norm for each sublayer: parameters <prefix>.norm.*
template <class Norm>
struct OneNorm {
  Norm norm;

  OneNorm(ParameterFactory& make, const std::string& prefix) : norm(make, prefix + ".norm") {}
};

// x + f(norm(x)), the default of the paper (Gu et al. 2025, section 2).
struct PreNorm {
  static std::string name() { return "PreNorm"; }
  static constexpr bool kFinalNorm = true;

  template <class Norm>
  using Norms = OneNorm<Norm>;

  template <class Attention, class FeedForward>
  static Residual block(const Residual& x, const Attention& attention, const FeedForward& feed_forward,
                        const ForwardContext& ctx) {
    // (x, norm(x)), then (u, norm(u)) with u = x + attention(norm(x)). The sum of the returned pair stays pending.
    auto [x_BTC, normed_BTC] = x.normed(attention.norm);
    auto [u_BTC, h_BTC] = feed_forward.norm.of_sum(x_BTC, attention(normed_BTC, ctx));
    return {u_BTC, feed_forward(h_BTC, ctx)};
  }
};

// norm(x + f(x)), as in the first transformers (Gu et al. 2025, section 7.2).
struct PostNorm {
  static std::string name() { return "PostNorm"; }
  static constexpr bool kFinalNorm = false;

  template <class Norm>
  using Norms = OneNorm<Norm>;

  // Massive activations appear in the sum and not in its norm, so hooks see both.
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

// x + norm(f(norm(x))), a norm before and after every sublayer (Ding et al. 2021).
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
    DType residual = x_BTC.value().dtype();  // norms do not take bf16
    Var branch_BTC = attention.post_norm(convert(attention(attention.norm(x_BTC), ctx), residual));
    auto [u_BTC, h_BTC] = feed_forward.norm.of_sum(x_BTC, branch_BTC);
    return add(u_BTC, feed_forward.post_norm(convert(feed_forward(h_BTC, ctx), residual)));
  }
};

// x + norm(f(x)): what a sublayer adds is normed, and not its input (OLMo et al. 2024).
struct OutputNorm {
  static std::string name() { return "OutputNorm"; }
  static constexpr bool kFinalNorm = true;

  template <class Norm>
  struct Norms {
    Norm post_norm;

    Norms(ParameterFactory& make, const std::string& prefix) : post_norm(make, prefix + ".post_norm") {}
  };

  template <class Attention, class FeedForward>
  static Residual block(const Var& x_BTC, const Attention& attention, const FeedForward& feed_forward,
                        const ForwardContext& ctx) {
    DType residual = x_BTC.value().dtype();
    Var u_BTC = add(x_BTC, attention.post_norm(convert(attention(x_BTC, ctx), residual)));
    return {u_BTC, feed_forward.post_norm(convert(feed_forward(u_BTC, ctx), residual))};
  }
};

// x + attention(norm_1(x)) + feed_forward(norm_2(x)): both sublayers read x (GPT-J, Wang and Komatsuzaki 2021;
// GPT-NeoX, Black et al. 2022, section 2.1).
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
