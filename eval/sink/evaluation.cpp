#include "eval/sink/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "eval/sink/attention_patterns.h"
#include "eval/sink/evaluation_hooks.h"
#include "eval/sink/even_attention.h"

namespace sink {
namespace {

// The sums of the hooks over one batch, then the sum of its losses.
std::vector<double> sums_of_batch(LanguageModel& model, const Batch& batch) {
  EvaluationHooks hooks(model.sizes(), model.extra_tokens(), batch.sequences(), batch.context());
  hooks.begin_batch(0, batch.documents());
  Tensor losses_BT;
  double loss =
      static_cast<double>(batch.predicted()) * model.loss(batch, 1, {.hooks = &hooks}, &losses_BT).value().item();
  hooks.add_losses(losses_BT);
  std::vector<double> sums = hooks.sums();
  sums.push_back(loss);
  return sums;
}

// Each vector as its length and its values.
std::string serialize(const std::vector<std::vector<double>>& vectors) {
  std::string bytes;
  for (const auto& values : vectors) {
    const std::uint64_t count = values.size();
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
    bytes.append(reinterpret_cast<const char*>(values.data()), count * sizeof(double));
  }
  return bytes;
}

// The first vector; removes it from `bytes`.
std::vector<double> deserialize_first(std::string_view& bytes) {
  std::uint64_t count = 0;
  SINK_CHECK(bytes.size() >= sizeof count, "evaluate", "a rank has sent fewer batches than it was assigned");
  std::memcpy(&count, bytes.data(), sizeof count);
  bytes.remove_prefix(sizeof count);
  SINK_CHECK(count <= bytes.size() / sizeof(double), "evaluate", "the sums that a rank has sent are truncated");
  std::vector<double> values(count);
  std::memcpy(values.data(), bytes.data(), count * sizeof(double));
  bytes.remove_prefix(count * sizeof(double));
  return values;
}

// measure(b) for b < batches, every N-th on each of N ranks; all ranks return all results.
template <class F>
std::vector<std::vector<double>> measure_on_ranks(std::int64_t batches, const EvaluationRanks& on, F&& measure) {
  const std::int64_t N = on.ranks ? on.ranks->size() : 1, rank = on.ranks ? on.ranks->rank() : 0;
  std::vector<std::vector<double>> local;
  for (std::int64_t round = 0; round * N < batches; ++round) {
    const std::int64_t b = round * N + rank;
    if (on.before_batch) on.before_batch();
    if (b < batches) local.push_back(measure(b));
  }
  if (N == 1) return local;
  const std::vector<std::string> bytes = on.ranks->exchange(serialize(local));
  std::vector<std::string_view> left(bytes.begin(), bytes.end());
  std::vector<std::vector<double>> all;
  for (std::int64_t b = 0; b < batches; ++b) all.push_back(deserialize_first(left[static_cast<std::size_t>(b % N)]));
  return all;
}

// Per sequence the index from 0 of the token, or -1.
std::vector<std::int64_t> places_of(const FixedToken& fixed, const Batch& sequences) {
  const Tensor tokens_NT = sequences.tokens_BT().to(Device::cpu);
  const std::int64_t T = tokens_NT.dim(1), end = std::min({fixed.to, T, kSinkPositions});
  std::vector<std::int64_t> places;
  for (std::int64_t n = 0; n < tokens_NT.dim(0); ++n) {
    const std::int32_t* row = tokens_NT.data<std::int32_t>() + n * T;
    std::int64_t place = -1, count = 0;
    for (std::int64_t t = fixed.from - 1; t < end; ++t)
      if (row[t] == fixed.id) place = t, ++count;
    places.push_back(count == 1 ? place : -1);
  }
  return places;
}

void require_finite(double value, const std::string& what) {
  if (!std::isfinite(value))
    throw Error(what + " is not finite, because values inside the model are too large: expected a model whose " +
                    "training did not diverge",
                Exit::diverged);
}

}  // namespace

void require_finite_loss(double loss) { require_finite(loss, "the loss"); }

void require_finite_stream(const ValueTable& hidden_norm) {
  for (const std::vector<double>& layer : hidden_norm)
    for (double length : layer) require_finite(length, "the residual stream");
}

std::optional<FixedToken> moved_fixed_token(const DataConfig& data) {
  const std::int64_t last = std::max(data.fixed_position, data.fixed_to);
  if (data.fixed_token < 0 || data.fixed_probability == 0 || last <= 1) return std::nullopt;
  return FixedToken{static_cast<std::int32_t>(data.fixed_token), data.fixed_position, last};
}

Evaluation evaluate(LanguageModel& model, const Batch& sequences, std::int64_t batch, bool with_patterns,
                    const EvaluationRanks& ranks, const std::optional<FixedToken>& fixed) {
  const std::int64_t N = sequences.sequences(), batches = (N + batch - 1) / batch;
  const auto measure = [&](std::int64_t b) {
    return sums_of_batch(model, sequences.rows(b * batch, std::min(N, (b + 1) * batch)));
  };
  EvaluationHooks hooks(model.sizes(), model.extra_tokens(), N, sequences.context());
  double loss_sum = 0;
  std::int64_t first = 0;
  for (std::vector<double>& sums : measure_on_ranks(batches, ranks, measure)) {
    loss_sum += sums.back();
    sums.pop_back();
    hooks.merge(first, sums);
    first += batch;
  }
  Evaluation evaluation = hooks.evaluation();
  if (fixed)
    hooks.add_fixed(places_of(*fixed, sequences), model.sizes(), sequences.documents().to(Device::cpu), evaluation);
  evaluation.loss_by_position = hooks.loss_by_position(sequences.targets_BT());
  evaluation.targets = sequences.predicted();
  evaluation.loss = evaluation.targets > 0 ? loss_sum / static_cast<double>(evaluation.targets) : std::nan("");
  if (with_patterns && (!ranks.ranks || ranks.ranks->is_writer()))
    add_patterns(model, sequences, std::nullopt, evaluation);
  return evaluation;
}

void add_sinks_by_length(LanguageModel& model, const Batch& sequences, std::int64_t batch,
                         const std::vector<double>& epsilons, const std::vector<std::int64_t>& lengths,
                         Evaluation& evaluation, std::int64_t positions) {
  Evaluation::ByLength& by_length = evaluation.by_length;
  by_length = {.epsilons = epsilons, .lengths = lengths, .proxy = {}, .raw = {}};
  const std::int64_t N = sequences.sequences();
  for (std::int64_t T : lengths) {
    const Batch part = sequences.first(T);
    EvaluationHooks hooks(model.sizes(), model.extra_tokens(), N, T, {.positions = positions, .scores_only = true});
    for (std::int64_t n = 0; n < N; n += batch) {
      const Batch rows = part.rows(n, std::min(N, n + batch));
      hooks.begin_batch(n, rows.documents());
      model.loss(rows, 1, {.hooks = &hooks});
    }
    by_length.proxy.push_back(hooks.proxy().scores(epsilons));
    by_length.raw.push_back(hooks.raw().scores(epsilons));
  }
}

SinkScores scores_of_every_key(LanguageModel& model, const Batch& sequences) {
  struct KeySumHooks final : ForwardHooks {
    KeySumHooks(LanguageModel& model, const Batch& batch)
        : model(model),
          batch(batch),
          alphas(batch.sequences(), model.sizes().attention_layers(), model.sizes().heads, batch.context(),
                 batch.context()) {}
    void attention(AttentionPoint& point) override {
      const std::int64_t T = batch.context(), extra_tokens = model.extra_tokens();
      const AttentionKeySums sums = point.key_sums();
      const ValueTable rows_BK = rows_that_see(model.sizes(), point.layer, T, extra_tokens, batch.sequences(),
                                               extra_tokens + T, batch.documents());
      alphas.store(0, model.sizes().attention_index(point.layer), sums.proxy_BHK, rows_BK, extra_tokens,
                   point.has_extra_key, sums.extra_proxy_BH);
    }
    LanguageModel& model;
    const Batch& batch;
    AlphaTable alphas;
  } hooks(model, sequences);
  model.loss(sequences, 1, {.hooks = &hooks});
  return hooks.alphas.scores({});
}

}  // namespace sink
