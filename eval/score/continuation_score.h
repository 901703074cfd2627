// The tokens of contexts and continuations, tokenised like lm-evaluation-harness does, and the log-probability of
// continuations under a model.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/tokenizer/tokenizer.h"
#include "eval/score/scored_item.h"
#include "model/language_model.h"

namespace sink {

struct ContinuationTokens {
  std::vector<std::int32_t> ids;
  std::size_t scored = 0;  // the last ones, each given all tokens before it; at least one precedes them
};

struct PairEncoder {
  const Tokenizer& tokenizer;
  std::vector<std::int32_t> begin;  // put before every text that does not begin with them
  std::int32_t prefix = -1;         // before a continuation without context
  std::int64_t longest = 0;         // tokens that the model reads at once

  // White space at the end of the context moves to the continuation. With n tokens of the context alone, the
  // continuation is the tokens of context and continuation together without their first n. An empty context is replaced
  // by `prefix`. Of more than `longest` + 1 tokens (the last is not read) the first are dropped. A continuation without
  // context that is longer than `longest` is split, each part after as much text as fits (loglikelihood_rolling).
  // Throws JsonFailure if nothing is left to score, or a continuation with context is longer than `longest`.
  std::vector<ContinuationTokens> operator()(const ScorePair& pair, EncodeCache& cache) const;
};

struct ContinuationScore {
  std::vector<double> logprobs;  // of each token, in nats
  std::vector<bool> greedy;      // whether it is the most likely one

  double sum() const;
  bool all_greedy() const;
};

// The scores in the order of `all`. Common beginnings are read once. Throws Error (Exit::bad_input) if a scored token
// is in the prefix, whose tokens see each other.
std::vector<ContinuationScore> score_continuations(LanguageModel& model, const std::vector<ContinuationTokens>& all);

}  // namespace sink
