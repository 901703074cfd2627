// Multi-head causal self-attention: out(join_h(attention_h(h W_q, h W_k, h W_v))) (Gu et al. 2025, section 2), with
// every policy of a Spec that acts on it, in the order in which they act.
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

#include "autograd/ops/attention_node.h"
#include "autograd/ops/heads_node.h"
#include "engine/ops/attention/attention_row.h"
#include "model/attention/constants.h"
#include "model/layer/linear_layer.h"
#include "model/parameter_factory.h"
#include "model/pass.h"
#include "model/query_key_norm/norm_queries_keys.h"

namespace sink {

// Whether a position policy has split(qkv, H, G, pass): split_heads, then rotate of queries and keys, in one pass.
template <class Position>
concept SplitsHeads = requires(const Position& position, const Var& qkv_BTE, std::int64_t H, const Pass& pass) {
  { position.split(qkv_BTE, H, H, pass) } -> std::same_as<QueryKeyValue>;
};

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

  Var operator()(const Var& h_BTC, const Pass& pass) const {
    auto [q_BHTD, k_BGTD, v_BGTD] = heads(qkv_(h_BTC), pass);
    q_BHTD = features_(q_BHTD);
    k_BGTD = features_(k_BGTD);
    auto [extra_k_HD, extra_logit_H, extra_v_HD] = extra_.extra_key();
    AttentionInputs inputs{q_BHTD, k_BGTD, v_BGTD, position_.bias(), extra_k_HD, extra_logit_H, extra_v_HD};
    AttentionResult result = attention(op_, inputs, sizes_.scale(), range(pass), pass.documents.starts_BT,
                                       pass.cache ? pass.cache->length() : 0);
    if (pass.probe) report(pass, q_BHTD.value(), k_BGTD.value(), v_BGTD.value(), result);
    if (pass.edit) result.o_BHTD = Var(edited(pass, q_BHTD.value(), k_BGTD.value(), v_BGTD.value(), result));
    Var o_BTE = Spec::Heads::join(extra_.output(result.o_BHTD));
    o_BTE = gate_(o_BTE, h_BTC);
    if (pass.edit) o_BTE = Var(pass.edit->inner_input(o_BTE.value()));
    return out_(o_BTE);
  }

 private:
  // Tokens that the model itself puts first belong to no document: all see them.
  KeyRange range(const Pass& pass) const {
    KeyRange range{.prefix = sizes_.prefix, .window = sizes_.is_global(pass.layer) ? 0 : sizes_.window};
    if (range.prefix > 0) range.prefix += Extra::kTokens;
    if (pass.documents.defined()) range.lead = range.prefix = Extra::kTokens;
    return range;
  }
  static std::int64_t qkv_width(const Sizes& sizes) {
    return (sizes.heads + 2 * sizes.key_heads()) * sizes.width_of_head();
  }

  // Queries and keys, normed and then rotated, and values; in one pass where nothing norms them and the position can.
  QueryKeyValue heads(const Var& qkv_BTE, const Pass& pass) const {
    if (pass.cache) return cached_heads(qkv_BTE, pass);
    constexpr bool kNormed = !std::is_same_v<typename Spec::QueryKeyNorm, NoQueryKeyNorm>;
    if constexpr (!kNormed && SplitsHeads<Position>) {
      return position_.split(qkv_BTE, sizes_.heads, sizes_.key_heads(), pass);
    } else {
      auto [q_BHTD, k_BGTD, v_BGTD] = split_heads(qkv_BTE, sizes_.heads, sizes_.key_heads());
      return {position_.rotate(query_key_norm_.query(q_BHTD), pass),
              position_.rotate(query_key_norm_.key(k_BGTD), pass), v_BGTD};
    }
  }

  // Queries of the tokens that follow, and all keys and values so far.
  QueryKeyValue cached_heads(const Var& qkv_BTE, const Pass& pass) const {
    auto [q_BHTD, k_BGTD, v_BGTD] = split_heads(qkv_BTE, sizes_.heads, sizes_.key_heads());
    const bool rotate_later = pass.cache->positions() == KeyValueCache::Positions::of_cache;
    k_BGTD = query_key_norm_.key(k_BGTD);
    if (!rotate_later) k_BGTD = position_.rotate(k_BGTD, pass);
    const KeyValueCache::KeysValues all = pass.cache->append(pass.layer, k_BGTD.value(), v_BGTD.value());
    const Var k_BGKD(all.k_BGKD);
    return {position_.rotate(query_key_norm_.query(q_BHTD), pass),
            rotate_later ? position_.rotate(k_BGKD, Pass{.layer = pass.layer}) : k_BGKD, Var(all.v_BGKD)};
  }

  void report(const Pass& pass, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionResult& r) const {
    pass.probe->attention({
        .layer = pass.layer,
        .q_BHTD = q,
        .k_BGTD = k,
        .v_BGTD = v,
        .extra_key = Extra::kExtraKey,
        .statistics =
            [&](std::int64_t columns) {
              return attention_statistics(op_, q, k, v, r.m_BHT, r.S_BHT, r.config, columns).to(Device::cpu);
            },
        .map = [&](std::int64_t b,
                   std::int64_t h) { return attention_map(op_, q, k, r.m_BHT, r.S_BHT, r.config, b, h); },
        .trace = [op = op_, q, k, v, config = r.config](
                     const Tensor& do_BHTD, std::int64_t b, std::int64_t h,
                     std::int64_t i) { return attention_trace(op, q, k, v, config, do_BHTD, b, h, i); },
    });
  }

  Tensor edited(const Pass& pass, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionResult& r) const {
    auto mix = [&](const Tensor& keys, const Tensor& values, const Tensor& extra_value) {
      AttentionConfig config = r.config;
      config.extra_key.v_HD = extra_value;
      Tensor o = Tensor::empty_like(q), m = Tensor::empty_like(r.m_BHT), S = Tensor::empty_like(r.S_BHT);
      attention<Op>(op_, q, keys, values, config, o, m, S);
      return o;
    };
    return pass.edit->attention_output({.layer = pass.layer,
                                        .k_BGTD = k,
                                        .v_BGTD = v,
                                        .o_BHTD = r.o_BHTD.value(),
                                        .extra_key = Extra::kExtraKey,
                                        .extra_v_HD = r.config.extra_key.v_HD,
                                        .divides_by_sum = DividesBySum<Op>,
                                        .mix = mix});
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
