// Multi-head causal self-attention (Gu et al. 2025, section 2). With the policies of `baseline`, for each head:
//
//   q_i, k_i, v_i = W_q h_i, W_k h_i, W_v h_i            D elements each; q and k are rotated by position
//   a_ij = softmax over j <= i of q_i . k_j / sqrt(D)    the attention pattern, (T, T)
//   o_i = sum_j a_ij v_j                                 the output of the head
//
// and W_o [o of all heads]_i is the output of the layer. The other policies of a Spec act in the order of the code
// below.
#pragma once

#include "autograd/ops/attention_node.h"
#include "model/attention/constants.h"
#include "model/layer/attention_point_of.h"
#include "model/layer/first_keys.h"
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

  // Keeps a reference to `position`, which all layers share.
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

  // h (B, T, C) -> (B, T, C). H heads of queries, G <= H heads of keys and values, D elements per head.
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const {
    auto [q_BHTD, k_BGKD, v_BGKD, first_q_BHTD] =
        positioned_heads(qkv_(h_BTC), h_BTC, position_, query_key_norm_, gate_, sizes_, ctx);
    q_BHTD = features_(q_BHTD);
    k_BGKD = features_(k_BGKD);
    auto [extra_k_HD, extra_logit_H, extra_v_HD] = extra_.extra_key();
    AttentionInputs inputs{q_BHTD, k_BGKD, v_BGKD, position_.bias(ctx), extra_k_HD, extra_logit_H, extra_v_HD};
    ctx.hooks->query_key_value(ctx.layer, inputs.q_BHTD, inputs.k_BGKD, inputs.v_BGKD);
    AttentionResult result =
        attention_in_context<Spec>(op_, inputs, first_q_BHTD, sizes_.scale(), visible_keys(ctx), ctx);
    AttentionPointOf<Op> point(ctx.layer, op_, inputs, result, Extra::kExtraKey);
    ctx.hooks->attention(point);
    Var o_BTE = Spec::Heads::join(extra_.output(result.o_BHTD));
    if constexpr (GatesOutput<typename Spec::Gate>)
      o_BTE = gate_(o_BTE, h_BTC);
    else
      o_BTE = gate_(o_BTE, h_BTC, inputs, result.config, Spec::Heads::join);
    ctx.hooks->projection_input(ctx.layer, SublayerKind::attention, o_BTE);
    return out_(o_BTE);
  }

 private:
  // The range of keys of a query: causal, with the window of this layer and the prefix. With documents, a query sees
  // only its own document and the extra tokens of the model (kTokens), which belong to no document.
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
