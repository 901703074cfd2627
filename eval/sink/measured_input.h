// The sequences that `sink` and `atlas` measure a model on, and their measurement.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/checkpoint.h"
#include "engine/io/compute_options.h"
#include "eval/input_options.h"
#include "eval/sink/evaluation.h"
#include "eval/sink/trained_on.h"

namespace sink {

inline constexpr std::int64_t kPaperContext = 64;  // tokens of a sequence in the measurements of the paper

struct Input {
  Batch tokens;
  std::vector<std::string> domains = {};  // of JSONL, one for each sequence
};

// The ids or the text of a user; of JSONL the first run.context tokens of each text. Throws Error like InputOptions.
Input given_input(const InputOptions& given, const Checkpoint& checkpoint, const TrainedOn& run, const Sizes& sizes);

// evaluate() of as many sequences at a time as `compute` says; `more` measures more of the same. A backbone without
// unembedding has no targets. Throws Error for losses or hidden states that are not finite, and if memory is short.
using MoreMeasures = std::function<void(const Batch& input, std::int64_t batch, Evaluation& measured)>;
Evaluation evaluate_in_batches(LanguageModel& model, const Checkpoint& checkpoint, const Batch& sequences,
                               const ComputeOptions& compute, const std::optional<FixedToken>& fixed = {},
                               const MoreMeasures& more = {});

}  // namespace sink
