// Attention to the keys of a cache. One that drops tokens in steps holds more keys than a query sees: the first keys,
// which softmax over its window leaves out, are added afterwards.
#pragma once

#include <algorithm>

#include "autograd/ops/attention_node.h"
#include "model/attention/constants.h"
#include "model/features/feature_map.h"
#include "model/forward_context.h"
#include "model/position/position_defaults.h"

namespace sink {

struct Softmax;

// o, m and S: softmax of queries, rows first_row ... of the cache, over their last window.window keys; replaced by
// those that see the first window.first keys as well. A query at row i beyond the kept ones sees them from position
// kept - 1, at which `q_BHTD` is rotated. `visible`: the window of the layer in positions, 0: all. On the CPU; plain
// loops in double, since the first keys are few.
void add_first_keys(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD, const CacheWindow& window,
                    std::int64_t visible, std::int64_t first_row, double scale, Tensor& o_BHTD, Tensor& m_BHT,
                    Tensor& S_BHT);

// Whether a cache may hold more keys than a query sees (CacheWindow::step): softmax, and no positions but rotations.
template <class Spec>
inline constexpr bool kReadsAhead =
    std::is_same_v<typename AttentionPolicy<typename Spec::Attention>::Op, Softmax> && !Spec::Extra::kExtraKey &&
    std::is_same_v<typename Spec::Features, IdentityFeatures> &&
    std::is_same_v<decltype(&Spec::Position::embed), decltype(&PositionDefaults::embed)> &&
    std::is_same_v<decltype(&Spec::Position::bias), decltype(&PositionDefaults::bias)>;

template <class Spec>
bool can_read_ahead(const Sizes& sizes, Device device) {
  return kReadsAhead<Spec> && sizes.prefix == 0 && sizes.long_rope.long_E.empty() && device == Device::cpu;
}

// attention() of a layer to the keys of `range`; of them, where a cache drops tokens, to those that it keeps.
// `first_q_BHTD`: see PositionedHeads.
template <class Spec, class Op>
AttentionResult attention_in_context(const Op& op, const AttentionInputs& inputs, const Var& first_q_BHTD, double scale,
                                     KeyRange range, const ForwardContext& ctx) {
  const std::int64_t of_layer = range.window;
  if (ctx.cache && ctx.cache->window().step > 1)
    range.window = std::min(of_layer > 0 ? of_layer : INT64_MAX, ctx.cache->window().window);
  AttentionResult result = attention(op, inputs, scale, range, ctx.documents.starts_BT, ctx.first_position());
  if constexpr (kReadsAhead<Spec>)
    if (Tensor o_BHTD = result.o_BHTD.value(); first_q_BHTD.value().defined())
      add_first_keys(first_q_BHTD.value(), inputs.k_BGKD.value(), inputs.v_BGKD.value(), ctx.cache->window(), of_layer,
                     ctx.first_position(), scale, o_BHTD, result.m_BHT, result.S_BHT);
  return result;
}

}  // namespace sink
