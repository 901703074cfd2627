// Continues a text token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "eval/generate/sampling.h"
#include "eval/generate/token_reader.h"

namespace sink {

enum class ContinuationEnd { stop_token, tokens, context };

struct Continuation {
  std::vector<std::int32_t> ids;  // without the stop token
  ContinuationEnd end = ContinuationEnd::tokens;
  std::int32_t stop_token = -1;  // the one that ended it
  double prompt_seconds = 0, seconds = 0;
};

// The end-of-text and end-of-turn tokens: `end_tokens` of the checkpoint, and those of the tokenizer (null: none) with
// a known name (end_tokens_among). Throws Error (Exit::corrupt_checkpoint) if `end_tokens` is no list of ids.
std::vector<std::int32_t> stop_tokens(const Checkpoint& checkpoint, const Tokenizer* tokenizer);

// Reads `prompt`, then generates at most `tokens` tokens and reads all but the last. `each` is called with every token.
// `drawn`: the number of tokens sampled before with this seed. Throws Error like TokenReader::read for a prompt that
// does not fit.
Continuation continue_text(TokenReader& reader, std::span<const std::int32_t> prompt, std::int64_t tokens,
                           const Sampling& sampling, const std::vector<std::int32_t>& stops,
                           const std::function<void(std::int32_t)>& each, std::uint64_t drawn = 0);

// Decodes tokens one by one into printable text: whole characters, each once.
class TextPieces {
 public:
  // Keeps a reference to the tokenizer. The text continues that of `before`.
  explicit TextPieces(const Tokenizer& tokenizer, std::vector<std::int32_t> before = {});

  // The characters that this token completes; may be empty.
  std::string add(std::int32_t id);
  // The rest, which may end inside a character.
  std::string rest() const { return text().substr(given_); }

 private:
  std::string text() const { return tokenizer_.decode(ids_); }

  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> ids_;
  std::size_t given_ = 0;
};

}  // namespace sink
