#include "eval/evaluation.h"

#include <algorithm>

#include "engine/ops/cross_entropy/cross_entropy.h"
#include "eval/evaluation_probe.h"

namespace sink {
namespace {

struct MapTaker final : Probe {
  MapTaker(std::int64_t layer, std::int64_t head) : layer(layer), head(head) {}
  void hidden(std::int64_t, const Tensor&) override {}
  void attention(const AttentionView& view) override {
    if (view.layer != layer) return;
    weights = view.map(0, head);
    slot = view.slot;
  }
  std::int64_t layer, head;
  Tensor weights;
  bool slot = false;
};

}  // namespace

std::pair<std::int64_t, std::int64_t> strongest_head(const Evaluation& evaluation) {
  const NumberTable& alpha = evaluation.proxy.alpha_1_layer_head;
  std::pair<std::int64_t, std::int64_t> strongest{0, 0};
  double largest = -1;
  for (std::size_t layer = 0; layer < alpha.size(); ++layer)
    for (std::size_t head = 0; head < alpha[layer].size(); ++head)
      if (alpha[layer][head] > largest) {
        largest = alpha[layer][head];
        strongest = {layer, head};
      }
  return strongest;
}

Evaluation::Map take_map(LanguageModel& model, const Tensor& tokens_1T, std::int64_t layer, std::int64_t head) {
  const Sizes& s = model.sizes();
  SINK_CHECK(layer >= 0 && layer < s.layers && head >= 0 && head < s.heads, "map",
             "expected a layer below " + std::to_string(s.layers) + " and a head below " + std::to_string(s.heads) +
                 ", got layer " + std::to_string(layer) + " and head " + std::to_string(head),
             Exit::usage);
  MapTaker taker(layer, head);
  model.logits(tokens_1T, &taker);
  Evaluation::Map map{.layer = layer, .head = head, .tokens = {}, .weights = {}, .slot_weights = {}};
  map.tokens.assign(static_cast<std::size_t>(model.extra_tokens()), -1);
  map.tokens.insert(map.tokens.end(), tokens_1T.data<std::int32_t>(),
                    tokens_1T.data<std::int32_t>() + tokens_1T.size());
  for (std::int64_t i = 0; i < taker.weights.dim(0); ++i) {
    const double* row = taker.weights.data<double>() + i * taker.weights.dim(1);
    if (taker.slot) map.slot_weights.push_back(*row);
    map.weights.emplace_back(row + taker.slot, row + taker.weights.dim(1));
  }
  return map;
}

Evaluation evaluate(LanguageModel& model, const Tensor& tokens_NT, const Tensor& targets_NT, std::int64_t batch,
                    bool with_map) {
  SINK_CHECK(tokens_NT.rank() == 2 && tokens_NT.size() > 0 && targets_NT.shape() == tokens_NT.shape(), "evaluate",
             "expected tokens and targets (N, T) with N, T > 0, got " + tokens_NT.str() + " and " + targets_NT.str(),
             Exit::bad_input);
  std::int64_t N = tokens_NT.dim(0), T = tokens_NT.dim(1);
  EvaluationProbe probe(model.sizes(), model.extra_tokens(), N, T);
  double loss_sum = 0;
  std::int64_t targets = 0;
  for (std::int64_t first = 0; first < N; first += batch) {
    std::int64_t last = std::min(N, first + batch);
    probe.begin_batch(first);
    Tensor batch_targets = targets_NT.rows(first, last);
    std::int64_t counted = count_targets(batch_targets);
    loss_sum +=
        static_cast<double>(counted) * model.loss(tokens_NT.rows(first, last), batch_targets, 1, &probe).value().item();
    targets += counted;
  }
  Evaluation evaluation = probe.evaluation();
  evaluation.loss = loss_sum / static_cast<double>(targets);
  if (with_map) {
    auto [layer, head] = strongest_head(evaluation);
    evaluation.map = take_map(model, tokens_NT.rows(0, 1), layer, head);
  }
  return evaluation;
}

}  // namespace sink
