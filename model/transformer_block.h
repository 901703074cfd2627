// Block: one layer of the transformer; maps the residual stream x before it to x after it. FinalNorm: the norm after
// all blocks.
#pragma once

#include <optional>

#include "autograd/ops/convert_node.h"
#include "autograd/ops/recompute_node.h"
#include "model/forward_context.h"
#include "model/layer/attention_layer.h"
#include "model/parameter_factory.h"

namespace sink {

// A sublayer of a block, attention or feed-forward, with the norms of its placement: attention(h, ctx) applies the
// sublayer, attention.norm(x) its norm. The parameters of the norms come first.
template <class Norms, class Layer>
class Sublayer : public Norms {
 public:
  template <class... More>
  Sublayer(ParameterFactory& make, const std::string& prefix, SublayerKind kind, const More&... more)
      : Norms(make, prefix), layer_(make, prefix, more...), kind_(kind), compute_(make.compute()) {}

  // Converts h to the compute dtype: norms return it, the residual stream may have another.
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const {
    Var in_BTC = convert(h_BTC, compute_);
    ctx.hooks->sublayer_input(ctx.layer, kind_, in_BTC);
    Var f_BTC = call_layer(in_BTC, ctx);
    ctx.hooks->sublayer_output(ctx.layer, kind_, f_BTC);
    return f_BTC;
  }

 private:
  Var call_layer(const Var& in_BTC, const ForwardContext& ctx) const {
    if constexpr (requires { layer_(in_BTC, ctx); })
      return layer_(in_BTC, ctx);
    else
      return layer_(in_BTC);
  }

  Layer layer_;
  SublayerKind kind_;
  DType compute_;
};

template <class Spec>
class Block {
 public:
  using Norms = typename Spec::Placement::template Norms<typename Spec::Norm>;

  // Keeps a reference to `position`.
  Block(ParameterFactory& make, std::int64_t layer, const typename Spec::Position& position)
      : attention_(make, name(layer) + ".attention", SublayerKind::attention, position, layer),
        feed_forward_(make, name(layer) + ".feed_forward", SublayerKind::feed_forward, Spec::LinearBias::kFeedForward),
        layer_(layer) {}

  // Spec::Placement adds attention and feed-forward: for pre-norm u = x + attention(norm(x)), then
  // u + feed_forward(norm(u)) (model/placement/placements.h). With gradient checkpointing, backward runs the block
  // again.
  Residual operator()(Residual x, const ForwardContext& model_ctx) const {
    const ForwardContext ctx = model_ctx.in_layer(layer_);
    ctx.hooks->residual_pre(layer_, x);
    if (ctx.gradient_checkpointing)
      x = recompute(x, [this, ctx](const Var& in_BTC) -> Var { return forward(in_BTC, ctx); });
    else
      x = forward(x, ctx);
    ctx.hooks->residual_post(layer_, x);
    return x;
  }

 private:
  Residual forward(const Residual& x, const ForwardContext& ctx) const {
    return Spec::Placement::block(x, attention_, feed_forward_, ctx);
  }
  static std::string name(std::int64_t layer) { return "blocks." + std::to_string(layer); }

  Sublayer<Norms, typename Spec::Mixer::template Layer<AttentionLayer<Spec>>> attention_;
  Sublayer<Norms, typename Spec::FeedForward> feed_forward_;
  std::int64_t layer_;
};

// The norm before the unembedding; none with post-norm, whose residual stream is normed already.
template <class Spec>
class FinalNorm {
 public:
  explicit FinalNorm(ParameterFactory& make) : compute_(make.compute()) {
    if constexpr (Spec::Placement::kFinalNorm) norm_.emplace(make, "final_norm");
  }
  // Returns the compute dtype.
  Var operator()(const Residual& x) const { return norm_ ? x.normed(*norm_).y : convert(x, compute_); }

 private:
  std::optional<typename Spec::Norm> norm_;
  DType compute_;
};

}  // namespace sink
