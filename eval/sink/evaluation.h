// Measures a model on a set of sequences: its attention sinks, and the quantities that explain them (measures.h).
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "engine/comm/communicator.h"
#include "engine/data/data_config.h"
#include "eval/sink/sink_score.h"
#include "model/language_model.h"

namespace sink {

// Throws Error (Exit::diverged) for a loss that is NaN or infinite. Weights are finite when a model is loaded, so
// values computed from them have overflowed, and no measure of them means anything. For programs that measure a given
// model; training reports such a loss and continues.
void require_finite_loss(double loss);
// The same for the lengths of the residual stream, where there is no loss: [layer 0 ... L][position].
void require_finite_stream(const ValueTable& hidden_norm);

// Runs the model over the sequences, `batch` at a time, and accumulates sums; no attention pattern is stored.
// `with_patterns`: add_patterns runs afterwards, in a separate pass. With `ranks`, each of N ranks measures every N-th
// batch, and all return the result of a single process to the bit; only the writer has patterns.
struct EvaluationRanks {
  Communicator* ranks = nullptr;
  // All ranks call it equally often, before each batch. An exception from it ends the evaluation.
  std::function<void()> before_batch = {};
};
// A token that every sequence has at one of the positions from ... to (from 1).
struct FixedToken {
  std::int32_t id;
  std::int64_t from, to;
};
// Of a run whose fixed token is not always the first; none for others, where alpha_1 is its alpha.
std::optional<FixedToken> moved_fixed_token(const DataConfig& data);

// `fixed`: fills Evaluation::alpha_fixed. Sequences that have the token twice at these positions, or after the first
// kSinkPositions, do not count.
Evaluation evaluate(LanguageModel& model, const Batch& sequences, std::int64_t batch, bool with_patterns,
                    const EvaluationRanks& ranks = {}, const std::optional<FixedToken>& fixed = {});

// Sink_k at any threshold and sequence length; the paper reports 0.3 at 64 tokens only.
// Fills evaluation.by_length: for every T of `lengths` (at most the context of the sequences, more than the prefix of
// the model) the model reads the first T tokens of every sequence, `batch` at a time. alpha_k is computed from column
// sums over those T rows, Sink_k at each of `epsilons`, for k up to `positions` (at most T).
void add_sinks_by_length(LanguageModel& model, const Batch& sequences, std::int64_t batch,
                         const std::vector<double>& epsilons, const std::vector<std::int64_t>& lengths,
                         Evaluation& evaluation, std::int64_t positions = kSinkPositions);

// alpha_k of every key: alpha_layer_head_k has all positions, by one pass over all sequences at once, in memory that is
// linear in their length (attention_key_sums). No Sink_k.
SinkScores scores_of_every_key(LanguageModel& model, const Batch& sequences);

}  // namespace sink
