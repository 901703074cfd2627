// Block: one layer of the transformer, from the residual stream x to the residual stream after it.
#pragma once

#include "autograd/ops/recompute_node.h"
#include "model/layer/attention_layer.h"
#include "model/layer/sublayer.h"

namespace sink {

template <class Spec>
class Block {
 public:
  using Norms = typename Spec::Placement::template Norms<typename Spec::Norm>;

  // Keeps a reference to `position`.
  Block(ParameterFactory& make, std::int64_t layer, const typename Spec::Position& position)
      : attention_(make, name(layer) + ".attention", SublayerKind::attention, position),
        feed_forward_(make, name(layer) + ".feed_forward", SublayerKind::feed_forward, Spec::LinearBias::kFeedForward),
        layer_(layer) {}

  // Spec::Placement says how attention and feed-forward are added: for pre-norm u = x + attention(norm(x)), then
  // u + feed_forward(norm(u)) (model/placement/pre_norm.h).
  Residual operator()(Residual x, const ForwardContext& model_ctx) const {
    const ForwardContext ctx = model_ctx.in_layer(layer_);
    ctx.hooks->residual_pre(layer_, x);
    if (ctx.gradient_checkpointing)
      x = recompute(x, [this, ctx](const Var& in_BTC) -> Var { return added(in_BTC, ctx); });
    else
      x = added(x, ctx);
    ctx.hooks->residual_post(layer_, x);
    return x;
  }

 private:
  Residual added(const Residual& x, const ForwardContext& ctx) const {
    return Spec::Placement::block(x, attention_, feed_forward_, ctx);
  }
  static std::string name(std::int64_t layer) { return "blocks." + std::to_string(layer); }

  Sublayer<Norms, AttentionLayer<Spec>> attention_;
  Sublayer<Norms, typename Spec::FeedForward> feed_forward_;
  std::int64_t layer_;
};

}  // namespace sink
