#include "eval/sink/attention_patterns.h"

#include <algorithm>
#include <cmath>

#include "engine/tensor_view.h"

namespace sink {
namespace {

constexpr std::int64_t kMaxSequences = 4;
constexpr std::int64_t kMaxBytes = 1500000;
constexpr std::int64_t kBytesPerWeight = 8;  // "0.01234,"

// Copies the patterns of one sequence, of all heads or of the chosen one.
struct PatternHooks final : ForwardHooks {
  PatternHooks(Evaluation::Patterns& patterns, const Sizes& sizes, bool all_heads)
      : patterns(patterns), sizes(sizes), all_heads(all_heads) {}
  void attention(AttentionPoint& point) override {
    patterns.extra_key = point.has_extra_key;
    const std::int64_t row = sizes.attention_index(point.layer);
    for (std::int64_t head = 0; head < patterns.heads; ++head) {
      const bool chosen = row == patterns.layer && head == patterns.head;
      if (all_heads || chosen)
        patterns.weights[static_cast<std::size_t>((sequence * patterns.layers + row) * patterns.heads + head)] =
            point.pattern(0, head);
    }
  }
  Evaluation::Patterns& patterns;
  const Sizes& sizes;
  bool all_heads;
  std::int64_t sequence = 0;
};

}  // namespace

std::pair<std::int64_t, std::int64_t> head_to_show(const Evaluation& evaluation) {
  ValueTable weight = evaluation.raw.alpha_1_layer_head;
  for (std::size_t l = 0; l < weight.size(); ++l)
    for (std::size_t h = 0; h < weight[l].size(); ++h) {
      weight[l][h] = std::abs(weight[l][h]);
      if (evaluation.raw.has_star())
        weight[l][h] = std::max(weight[l][h], std::abs(evaluation.raw.alpha_star_layer_head[l][h]));
    }
  return largest_cell(weight);
}

Evaluation::Patterns capture_patterns(LanguageModel& model, const Tensor& tokens_NT, std::int64_t layer,
                                      std::int64_t head, bool all_heads, const DocumentPlaces& documents) {
  const Sizes& s = model.sizes();
  SINK_CHECK(layer >= 0 && layer < s.attention_layers() && head >= 0 && head < s.heads, "map",
             "expected a layer below " + std::to_string(s.attention_layers()) + " and a head below " +
                 std::to_string(s.heads) + ", got layer " + std::to_string(layer) + " and head " + std::to_string(head),
             Exit::usage);
  Evaluation::Patterns patterns;
  patterns.layers = s.attention_layers(), patterns.heads = s.heads;
  patterns.layer = layer, patterns.head = head;
  patterns.weights.resize(static_cast<std::size_t>(tokens_NT.dim(0) * patterns.layers * s.heads));
  PatternHooks hooks(patterns, s, all_heads);
  for (std::int64_t n = 0; n < tokens_NT.dim(0); ++n) {
    Tensor tokens_1T = tokens_NT.rows(n, n + 1);
    patterns.tokens.emplace_back(static_cast<std::size_t>(model.extra_tokens()), -1);
    for (std::int32_t id : view<std::int32_t, 2>(tokens_1T)) patterns.tokens.back().push_back(id);
    hooks.sequence = n;
    model.next_logits(tokens_1T, {.hooks = &hooks, .documents = documents.rows(n, n + 1)});
  }
  return patterns;
}

std::int64_t sequences_to_keep(const Sizes& sizes, std::int64_t sequences, std::int64_t positions) {
  if (positions > kMaxPatternTokens) return 0;
  const std::int64_t weights = positions * (positions + 3) / 2;  // of a causal pattern with an extra key
  return std::min(
      {sequences, kMaxSequences, kMaxBytes / (sizes.attention_layers() * sizes.heads * weights * kBytesPerWeight)});
}

void add_patterns(LanguageModel& model, const Batch& sequences,
                  const std::optional<std::pair<std::int64_t, std::int64_t>>& head, Evaluation& evaluation) {
  if (!head && sequences.context() > kMaxPatternTokens) return;
  const std::int64_t kept =
      sequences_to_keep(model.sizes(), sequences.sequences(), sequences.context() + model.extra_tokens());
  auto [layer, of_layer] = head.value_or(head_to_show(evaluation));
  Batch first = sequences.rows(0, std::max<std::int64_t>(1, kept));
  evaluation.patterns =
      capture_patterns(model, first.tokens_BT(), layer, of_layer, /*all_heads=*/kept > 0, first.documents());
}

}  // namespace sink
