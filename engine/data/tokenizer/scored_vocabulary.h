// A vocabulary of characters with scores, as SentencePiece, GGUF and llama2.c keep it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// The numbers of SentencePiece and of tokenizer.ggml.token_type.
enum class TokenKind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct ScoredVocabulary {
  std::vector<std::string> tokens;  // by id; spaces are U+2581
  std::vector<float> scores;
  std::vector<TokenKind> kinds;
  bool space_prefix = true;          // text, and what follows an added token, gets a leading space
  std::vector<std::int32_t> before;  // special tokens around a text
  std::vector<std::int32_t> after;
};

// The tokenizer: merges by scores (scored_merges.h); unknown characters are bytes where there are such tokens, else one
// unknown token for several in a row. Control tokens and the unknown one are found in text as special tokens, and
// user-defined ones, which write their spaces there, as others; unused ones come from nothing. Throws Error
// (Exit::bad_input), naming `path`, where the lists differ in length, a token is not UTF-8, empty (but for unused
// ones), too long or there twice, or a score is not a number.
BpeModel scored_model(const ScoredVocabulary& vocabulary, const std::string& path);

}  // namespace sink
