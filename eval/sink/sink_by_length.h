// Sink_k at any thresholds, of sequences of any lengths: what the study's one number, 0.3 at 64 tokens, leaves out.
#pragma once

#include "eval/sink/evaluation.h"

namespace sink {

// Fills evaluation.by_length: for every T of `lengths` (each at most the sequences' context, more than the model's
// prefix) the model reads the first T tokens of every sequence, `batch` at a time, and alpha_k comes out of column sums
// over those T rows, without a map. Percentages of heads are those whose alpha is above each of `epsilons`.
// k goes up to `positions` (or T), or to the study's ten.
void keep_sinks_by_length(LanguageModel& model, const Batch& sequences, std::int64_t batch,
                          const std::vector<double>& epsilons, const std::vector<std::int64_t>& lengths,
                          Evaluation& evaluation, std::int64_t positions = kSinkPositions);

// Sink_1 (of an extra key or sink token Sink_*, too) by length and threshold, as lines of text; of key k beside it
// where that is not 1.
std::string sinks_by_length_table(const Evaluation::ByLength& sinks, std::int64_t k = 1);

}  // namespace sink
