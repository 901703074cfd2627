// The log-probability that a model gives to continuations.
#pragma once

#include <vector>

#include "eval/score/continuation_tokens.h"
#include "model/language_model.h"

namespace sink {

struct ContinuationScore {
  std::vector<double> logprobs;  // of each token, in nats
  std::vector<bool> greedy;      // whether it is the most likely one

  double sum() const;
  bool all_greedy() const;
};

// Of each, in the order given. Tokens are read in an order in which what several begin with is read once. Throws Error
// (Exit::bad_input) where a scored token is among the first (prefix) that the model lets see each other.
std::vector<ContinuationScore> score_continuations(LanguageModel& model, const std::vector<ContinuationTokens>& all);

}  // namespace sink
