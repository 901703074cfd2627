#include "eval/evaluation.h"

#include <algorithm>

#include "engine/ops/cross_entropy/cross_entropy.h"
#include "eval/evaluation_maps.h"
#include "eval/evaluation_probe.h"

namespace sink {
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

Evaluation evaluate(LanguageModel& model, const Tensor& tokens_NT, const Tensor& targets_NT, std::int64_t batch,
                    bool with_maps) {
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
    loss_sum += static_cast<double>(counted) *
                model.loss(tokens_NT.rows(first, last), batch_targets, 1, {.probe = &probe}).value().item();
    targets += counted;
  }
  Evaluation evaluation = probe.evaluation();
  evaluation.loss = loss_sum / static_cast<double>(targets);
  if (with_maps) keep_maps(model, tokens_NT, std::nullopt, evaluation);
  return evaluation;
}

}  // namespace sink
