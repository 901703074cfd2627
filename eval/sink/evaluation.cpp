#include "eval/sink/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "eval/sink/evaluation_hooks.h"
#include "eval/sink/evaluation_maps.h"

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

namespace {

// What is gathered of one batch of sequences: the sums of its hooks, then the sum of its losses.
std::vector<double> measured_batch(LanguageModel& model, const Batch& part) {
  EvaluationHooks hooks(model.sizes(), model.extra_tokens(), part.sequences(), part.context());
  hooks.begin_batch(0, part.documents());
  Tensor losses_BT;
  double loss =
      static_cast<double>(part.predicted()) * model.loss(part, 1, {.hooks = &hooks}, &losses_BT).value().item();
  hooks.add_losses(losses_BT);
  std::vector<double> numbers = hooks.numbers();
  numbers.push_back(loss);
  return numbers;
}

// One behind the other, each with its length before it.
std::string as_bytes(const std::vector<std::vector<double>>& parts) {
  std::string bytes;
  for (const auto& numbers : parts) {
    const std::uint64_t count = numbers.size();
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
    bytes.append(reinterpret_cast<const char*>(numbers.data()), count * sizeof(double));
  }
  return bytes;
}

// The next of them; `bytes` then begins behind it.
std::vector<double> take_part(std::string_view& bytes) {
  std::uint64_t count = 0;
  SINK_CHECK(bytes.size() >= sizeof count, "evaluate", "a rank has measured fewer batches than are its own");
  std::memcpy(&count, bytes.data(), sizeof count);
  bytes.remove_prefix(sizeof count);
  SINK_CHECK(count <= bytes.size() / sizeof(double), "evaluate", "what a rank has measured is cut short");
  std::vector<double> numbers(count);
  std::memcpy(numbers.data(), bytes.data(), count * sizeof(double));
  bytes.remove_prefix(count * sizeof(double));
  return numbers;
}

// measured(p) for p < parts, every N-th by each of N ranks; all have all.
template <class F>
std::vector<std::vector<double>> measured_in_turns(std::int64_t parts, const EvaluationRanks& shared, F&& measured) {
  const std::int64_t N = shared.ranks ? shared.ranks->size() : 1, rank = shared.ranks ? shared.ranks->rank() : 0;
  std::vector<std::vector<double>> own;
  for (std::int64_t round = 0; round * N < parts; ++round) {
    const std::int64_t p = round * N + rank;
    if (shared.before_batch) shared.before_batch();
    if (p < parts) own.push_back(measured(p));
  }
  if (N == 1) return own;
  const std::vector<std::string> bytes = shared.ranks->exchange(as_bytes(own));
  std::vector<std::string_view> left(bytes.begin(), bytes.end());
  std::vector<std::vector<double>> all;
  for (std::int64_t p = 0; p < parts; ++p) all.push_back(take_part(left[static_cast<std::size_t>(p % N)]));
  return all;
}

}  // namespace

Evaluation evaluate(LanguageModel& model, const Batch& sequences, std::int64_t batch, bool with_maps,
                    const EvaluationRanks& ranks) {
  const std::int64_t N = sequences.sequences();
  EvaluationHooks hooks(model.sizes(), model.extra_tokens(), N, sequences.context());
  double loss_sum = 0;
  std::int64_t first = 0;
  for (std::vector<double>& numbers : measured_in_turns((N + batch - 1) / batch, ranks, [&](std::int64_t part) {
         return measured_batch(model, sequences.rows(part * batch, std::min(N, (part + 1) * batch)));
       })) {
    loss_sum += numbers.back();
    numbers.pop_back();
    hooks.merge(first, numbers);
    first += batch;
  }
  Evaluation evaluation = hooks.evaluation();
  evaluation.loss_by_position = hooks.loss_by_position(sequences.targets_BT());
  evaluation.loss = sequences.predicted() > 0 ? loss_sum / static_cast<double>(sequences.predicted()) : std::nan("");
  if (with_maps && (!ranks.ranks || ranks.ranks->is_writer())) keep_maps(model, sequences, std::nullopt, evaluation);
  return evaluation;
}

}  // namespace sink
