// A text that a model goes on with, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/data/tokenizer/tokenizer.h"
#include "eval/generate/sampling.h"
#include "eval/generate/token_reader.h"

namespace sink {

enum class ContinuationEnd { stop_token, tokens, context };

struct Continuation {
  std::vector<std::int32_t> ids;  // without the token that stopped it
  ContinuationEnd end = ContinuationEnd::tokens;
  std::int32_t stop_token = -1;  // where one did
  double prompt_seconds = 0, seconds = 0;
};

// The tokens at which text ends or a turn of a chat does, of those that the tokenizer has.
std::vector<std::int32_t> stop_tokens(const Tokenizer& tokenizer);

// Reads `prompt` behind what was read, then at most `tokens` tokens of its own, all but the last of which the model
// reads too. `each` sees every token once it is chosen. `drawn`: how many tokens of this seed were drawn before.
// Throws Error as TokenReader::read does where the prompt has no room.
Continuation continue_text(TokenReader& reader, std::span<const std::int32_t> prompt, std::int64_t tokens,
                           const Sampling& sampling, const std::vector<std::int32_t>& stops,
                           const std::function<void(std::int32_t)>& each, std::uint64_t drawn = 0);

}  // namespace sink
