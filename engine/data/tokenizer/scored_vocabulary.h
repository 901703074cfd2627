// A vocabulary of characters with scores, as in SentencePiece, GGUF and llama2.c.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// The values are those of SentencePiece and of tokenizer.ggml.token_type.
enum class TokenKind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct ScoredVocabulary {
  std::vector<std::string> tokens;  // by id; spaces are U+2581
  std::vector<float> scores;
  std::vector<TokenKind> kinds;
  bool space_prefix = true;          // text, and text after an added token, gets a leading space
  std::vector<std::int32_t> before;  // special tokens around a text
  std::vector<std::int32_t> after;
};

// The tokenizer: merges by scores (set_scored_merges); unknown characters are bytes where there are such tokens, else
// one unknown token for several in a row. Control tokens and the unknown one are found in text as special tokens, and
// user-defined ones, which write their spaces there, as others; unused ones come from nothing. Throws Error
// (Exit::bad_input), naming `path`, where the lists differ in length, a token is not UTF-8, empty (but for unused
// ones), too long or there twice, or a score is not a number.
BpeModel scored_model(const ScoredVocabulary& vocabulary, const std::string& path);

// Reads the vocabularies of llama2.c (tokenizer.bin, tok512.bin).
// `bytes` is the content of the file, which `path` names in messages. The file is little-endian: i32, the length of the
// longest token; then for each token f32 its score, i32 its length, and its bytes, with spaces as they are. Ids 0, 1
// and 2 are <unk>, <s> and </s>; the tokens <0x00> to <0xFF> are bytes. A text gets a leading space and the token <s>
// before it, as there. Throws Error (Exit::bad_input) where it is no such file.
BpeModel read_llama2c_vocabulary(const std::string& bytes, const std::string& path);

}  // namespace sink
