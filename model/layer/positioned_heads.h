// Splits projected hidden states into the queries, keys and values of the heads, norms queries and keys, and rotates
// them by position; gates values. With a key-value cache, keys and values are those of all tokens so far.
#pragma once

#include <concepts>
#include <type_traits>

#include "autograd/ops/heads_node.h"
#include "model/forward_context.h"
#include "model/query_key_norm/norm_queries_keys.h"

namespace sink {

// A position policy with split(qkv, H, G, ctx), which splits and rotates in one kernel.
template <class Position>
concept SplitsHeads = requires(const Position& position, const Var& qkv_BTE, std::int64_t H,
                               const ForwardContext& ctx) {
  { position.split(qkv_BTE, H, H, ctx) } -> std::same_as<QueryKeyValue>;
};

// A gate policy with values(v, h): the values of the heads (B, G, T, D) times a gate, before they are mixed.
template <class Gate>
concept GatesValues = requires(const Gate& gate, const Var& v, const Var& h) {
  { gate.values(v, h) } -> std::same_as<Var>;
};

template <class Gate>
Var gated_values(const Gate& gate, const Var& v_BGTD, const Var& h_BTC) {
  if constexpr (GatesValues<Gate>) return gate.values(v_BGTD, h_BTC);
  return v_BGTD;
}

struct PositionedHeads {
  Var q_BHTD, k_BGKD, v_BGKD;
  Var first_q_BHTD = {};  // for the first keys of a cache (add_first_keys), where its window leaves some out
};

// qkv (B, T, (H + 2 G) D) of the input h -> rotate(norm_q(q)) (B, H, T, D), rotate(norm_k(k)) and gated v (B, G, T, D).
template <class Position, class QueryKeyNorm, class Gate>
PositionedHeads positioned_heads(Var qkv_BTE, const Var& h_BTC, const Position& position, const QueryKeyNorm& norm,
                                 const Gate& gate, const Sizes& sizes, const ForwardContext& ctx) {
  ctx.hooks->projected_heads(ctx.layer, qkv_BTE);
  constexpr bool kNormed = !std::is_same_v<QueryKeyNorm, NoQueryKeyNorm>;
  if constexpr (!kNormed && SplitsHeads<Position>) {
    if (!ctx.cache) {
      auto [q_BHTD, k_BGTD, v_BGTD] = position.split(qkv_BTE, sizes.heads, sizes.key_heads(), ctx);
      return {q_BHTD, k_BGTD, gated_values(gate, v_BGTD, h_BTC)};
    }
  }
  auto [q_BHTD, k_BGTD, v_BGTD] = split_heads(qkv_BTE, sizes.heads, sizes.key_heads());
  const Var unrotated_q_BHTD = norm.query(q_BHTD, ctx);
  q_BHTD = position.rotate(unrotated_q_BHTD, ctx);
  k_BGTD = norm.key(k_BGTD);
  v_BGTD = gated_values(gate, v_BGTD, h_BTC);
  if (!ctx.cache) return {q_BHTD, position.rotate(k_BGTD, ctx), v_BGTD};

  // Positions that change with the cache are applied to keys that are cached without them.
  const bool rotates_later = ctx.cache->positions() == KeyValueCache::Positions::of_cache;
  if (!rotates_later) k_BGTD = position.rotate(k_BGTD, ctx);
  const KeyValueCache::KeysValues all = ctx.cache->append(ctx.layer, k_BGTD.value(), v_BGTD.value());
  const Var v_BGKD(all.v_BGKD);
  if (!rotates_later) return {q_BHTD, Var(all.k_BGKD), v_BGKD};
  const std::int64_t B = q_BHTD.value().dim(0), T = q_BHTD.value().dim(2), kept = ctx.cache->window().kept();
  auto at = [&](const Tensor& positions_BT) -> ForwardContext {
    return {.documents = {{}, positions_BT.to(q_BHTD.value().device())}, .layer = ctx.layer};
  };
  const Var k_BGKD(ctx.cache->rotated_keys(ctx.layer, T, [&](const Tensor& k, std::int64_t first) {
    auto next = [first](std::int64_t, std::int64_t t) { return first + t; };
    return position.rotate(Var(k), at(Tensor::table<std::int32_t>(B, k.dim(2), next))).value();
  }));
  const bool all_visible = ctx.cache->length() + T <= ctx.cache->window().window;
  if (ctx.cache->window().step == 1 || all_visible) return {q_BHTD, k_BGKD, v_BGKD};
  return {q_BHTD, k_BGKD, v_BGKD, position.rotate(unrotated_q_BHTD, at(ctx.cache->positions_of_next(B, T, kept - 1)))};
}

}  // namespace sink
