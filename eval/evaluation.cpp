#include "eval/evaluation.h"

#include <algorithm>
#include <cmath>

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

Evaluation evaluate(LanguageModel& model, const Batch& sequences, std::int64_t batch, bool with_maps) {
  std::int64_t N = sequences.sequences(), T = sequences.context();
  EvaluationProbe probe(model.sizes(), model.extra_tokens(), N, T);
  double loss_sum = 0;
  for (std::int64_t first = 0; first < N; first += batch) {
    std::int64_t last = std::min(N, first + batch);
    Batch part = sequences.rows(first, last);
    probe.begin_batch(first, part.documents());
    loss_sum += static_cast<double>(part.predicted()) * model.loss(part, 1, {.probe = &probe}).value().item();
  }
  Evaluation evaluation = probe.evaluation();
  evaluation.loss_by_position = probe.loss_by_position(sequences.targets_BT());
  evaluation.loss = sequences.predicted() > 0 ? loss_sum / static_cast<double>(sequences.predicted()) : std::nan("");
  if (with_maps) keep_maps(model, sequences, std::nullopt, evaluation);
  return evaluation;
}

}  // namespace sink
