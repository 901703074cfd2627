#include "eval/sink/evaluation_maps.h"

#include <algorithm>
#include <cmath>

#include "engine/tensor_view.h"

namespace sink {
namespace {

constexpr std::int64_t kMostSequences = 4;
constexpr std::int64_t kMostBytes = 1500000;
constexpr std::int64_t kBytesOfWeight = 8;  // "0.01234,"

// Copies the maps of one sequence, of all heads or of one.
struct MapTaker final : ForwardHooks {
  MapTaker(Evaluation::Maps& maps, bool all_heads) : maps(maps), all_heads(all_heads) {}
  void attention(AttentionPoint& point) override {
    maps.extra_key = point.has_extra_key;
    for (std::int64_t head = 0; head < maps.heads; ++head) {
      const bool chosen = point.layer == maps.layer && head == maps.head;
      if (all_heads || chosen)
        maps.weights[static_cast<std::size_t>((sequence * maps.layers + point.layer) * maps.heads + head)] =
            point.pattern(0, head);
    }
  }
  Evaluation::Maps& maps;
  bool all_heads;
  std::int64_t sequence = 0;
};

}  // namespace

std::pair<std::int64_t, std::int64_t> head_to_show(const Evaluation& evaluation) {
  const NumberTable& alpha = evaluation.raw.alpha_1_layer_head;
  std::pair<std::int64_t, std::int64_t> head{0, 0};
  double largest = -1;
  for (std::size_t l = 0; l < alpha.size(); ++l)
    for (std::size_t h = 0; h < alpha[l].size(); ++h) {
      double weight = std::abs(alpha[l][h]);
      if (evaluation.raw.star) weight = std::max(weight, std::abs(evaluation.raw.star->alpha_layer_head[l][h]));
      if (weight <= largest) continue;
      largest = weight;
      head = {l, h};
    }
  return head;
}

Evaluation::Maps take_maps(LanguageModel& model, const Tensor& tokens_NT, std::int64_t layer, std::int64_t head,
                           bool all_heads, const DocumentPlaces& documents) {
  const Sizes& s = model.sizes();
  SINK_CHECK(layer >= 0 && layer < s.layers && head >= 0 && head < s.heads, "map",
             "expected a layer below " + std::to_string(s.layers) + " and a head below " + std::to_string(s.heads) +
                 ", got layer " + std::to_string(layer) + " and head " + std::to_string(head),
             Exit::usage);
  Evaluation::Maps maps;
  maps.layers = s.layers;
  maps.heads = s.heads;
  maps.layer = layer;
  maps.head = head;
  maps.weights.resize(static_cast<std::size_t>(tokens_NT.dim(0) * s.layers * s.heads));
  MapTaker taker(maps, all_heads);
  for (std::int64_t n = 0; n < tokens_NT.dim(0); ++n) {
    Tensor tokens_1T = tokens_NT.rows(n, n + 1);
    maps.tokens.emplace_back(static_cast<std::size_t>(model.extra_tokens()), -1);
    for (std::int32_t id : view<std::int32_t, 2>(tokens_1T)) maps.tokens.back().push_back(id);
    taker.sequence = n;
    model.next_logits(tokens_1T, {.hooks = &taker, .documents = documents.rows(n, n + 1)});
  }
  return maps;
}

std::int64_t sequences_to_keep(const Sizes& sizes, std::int64_t sequences, std::int64_t positions) {
  if (positions > kLongestMap) return 0;
  std::int64_t weights = positions * (positions + 3) / 2;  // of a causal map with an extra key
  std::int64_t bytes = sizes.layers * sizes.heads * weights * kBytesOfWeight;
  return std::min({sequences, kMostSequences, kMostBytes / bytes});
}

void keep_maps(LanguageModel& model, const Batch& sequences,
               const std::optional<std::pair<std::int64_t, std::int64_t>>& head, Evaluation& evaluation) {
  std::int64_t positions = sequences.context() + model.extra_tokens();
  if (!head && sequences.context() > kLongestMap) return;
  std::int64_t kept = sequences_to_keep(model.sizes(), sequences.sequences(), positions);
  auto [layer, of_layer] = head.value_or(head_to_show(evaluation));
  Batch first = sequences.rows(0, std::max<std::int64_t>(1, kept));
  evaluation.maps = take_maps(model, first.tokens_BT(), layer, of_layer, /*all_heads=*/kept > 0, first.documents());
}

}  // namespace sink
