// A context and its continuation as the tokens that are scored, made as lm-evaluation-harness makes them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/data/tokenizer/tokenizer.h"
#include "eval/score/scored_item.h"

namespace sink {

struct ContinuationTokens {
  std::vector<std::int32_t> ids;
  std::size_t scored = 0;  // the last ones, each by what stands before it; at least one stands before them
};

struct PairEncoder {
  const Tokenizer& tokenizer;
  std::vector<std::int32_t> begin;  // before every text that does not have them
  std::int32_t prefix = -1;         // before a continuation without context
  std::int64_t longest = 0;         // tokens that the model reads at once

  // The white space that ends the context goes to the continuation. Both are encoded together, and what is longer than
  // the context alone is the continuation; where there is no context it stands behind `prefix`. Of more than `longest`
  // + 1 tokens (the last one is not read) the first are left out; a continuation without context that is longer than
  // `longest` is cut into parts, each behind as much of the text as there is room for (loglikelihood_rolling). Throws
  // JsonFailure where nothing is left to be scored, or the continuation is longer than `longest`.
  std::vector<ContinuationTokens> operator()(const ScorePair& pair, EncodeCache& cache) const;
};

// Where the white space begins that ends `text`, by Unicode.
std::size_t without_white_space_at_end(std::string_view text);

}  // namespace sink
