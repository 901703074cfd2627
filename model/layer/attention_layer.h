// Multi-head causal self-attention, out(join_h(attention_h(h W_q, h W_k, h W_v))) (Gu et al. 2025, section 2), with
// every policy of a Spec that acts on it, in the order in which they act.
#pragma once

#include "autograd/ops/attention_node.h"
#include "model/attention/constants.h"
#include "model/layer/attention_point_of.h"
#include "model/layer/linear_layer.h"
#include "model/layer/positioned_heads.h"
#include "model/parameter_factory.h"

namespace sink {

template <class Spec>
class AttentionLayer {
 public:
  using Op = typename AttentionPolicy<typename Spec::Attention>::Op;
  using Position = typename Spec::Position;
  using Extra = typename Spec::Extra;

  // Keeps a reference to `position`, which the layers of a model share.
  AttentionLayer(ParameterFactory& make, const std::string& prefix, const Position& position)
      : position_(position),
        sizes_(make.sizes()),
        qkv_{make.linear(prefix + ".qkv.weight", qkv_width(make.sizes()), make.sizes().width),
             make.linear_bias(prefix + ".qkv.bias", qkv_width(make.sizes()), Spec::LinearBias::kQkv)},
        query_key_norm_(make, prefix),
        features_(make, prefix),
        extra_(make, prefix),
        gate_(make, prefix),
        out_{make.linear(prefix + ".out.weight", make.sizes().width, Spec::Heads::width(make.sizes())),
             make.linear_bias(prefix + ".out.bias", make.sizes().width, Spec::LinearBias::kOut)} {}

  // h (B, T, C) to (B, T, C): project, position, attend, join, gate, project.
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const {
    auto [q_BHTD, k_BGTD, v_BGTD] = positioned_heads(qkv_(h_BTC), position_, query_key_norm_, sizes_, ctx);
    q_BHTD = features_(q_BHTD);
    k_BGTD = features_(k_BGTD);
    auto [extra_k_HD, extra_logit_H, extra_v_HD] = extra_.extra_key();
    AttentionInputs inputs{q_BHTD, k_BGTD, v_BGTD, position_.bias(), extra_k_HD, extra_logit_H, extra_v_HD};
    ctx.hooks->query_key_value(ctx.layer, inputs.q_BHTD, inputs.k_BGKD, inputs.v_BGKD);
    AttentionResult result =
        attention(op_, inputs, sizes_.scale(), visible_keys(ctx), ctx.documents.starts_BT, ctx.first_position());
    AttentionPointOf<Op> point(ctx.layer, op_, inputs, result, Extra::kExtraKey);
    ctx.hooks->attention(point);
    Var o_BTE = gate_(Spec::Heads::join(extra_.output(result.o_BHTD)), h_BTC);
    ctx.hooks->projection_input(ctx.layer, SublayerKind::attention, o_BTE);
    return out_(o_BTE);
  }

 private:
  // Tokens that the model itself puts first belong to no document: all queries see them.
  KeyRange visible_keys(const ForwardContext& ctx) const {
    KeyRange range{.prefix = sizes_.prefix, .window = sizes_.is_global(ctx.layer) ? 0 : sizes_.window};
    if (range.prefix > 0) range.prefix += Extra::kTokens;
    if (ctx.documents.defined()) range.lead = range.prefix = Extra::kTokens;
    return range;
  }
  static std::int64_t qkv_width(const Sizes& sizes) {
    return (sizes.heads + 2 * sizes.key_heads()) * sizes.width_of_head();
  }

  const Position& position_;
  Sizes sizes_;
  Op op_ = AttentionPolicy<typename Spec::Attention>::op();
  LinearLayer qkv_;
  typename Spec::QueryKeyNorm query_key_norm_;
  typename Spec::Features features_;
  Extra extra_;
  typename Spec::Gate gate_;
  LinearLayer out_;
};

}  // namespace sink
