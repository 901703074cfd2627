// Tokenizer: text to token ids and back, by BPE over bytes or characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/tokenizer/added_tokens.h"
#include "engine/data/tokenizer/bpe_model.h"
#include "engine/data/tokenizer/bpe_rules.h"
#include "engine/data/tokenizer/encode_cache.h"
#include "engine/data/tokenizer/merge_bounds.h"

namespace sink {

// Where a text is, which says whether a leading space is put before it: at the beginning, after an added token,
// after one that also takes the white space that follows, or after other text.
enum class TextPlace { at_begin, after_token, after_taking_token, inside };

class Tokenizer {
 public:
  explicit Tokenizer(BpeModel model);

  // See train_bpe.
  static Tokenizer train(const std::vector<std::string_view>& texts, std::int64_t vocabulary);
  // Loads a tokenizer.json (ours or HuggingFace's), a vocabulary with its merges in the same folder (see
  // read_tokenizer), or a tokenizer.bin of llama2.c (see scored_vocabulary.h). Throws Error (Exit::bad_input).
  static Tokenizer load(const std::string& path);
  // Throws Error (Exit::io).
  void save(const std::string& path) const;
  std::string json() const;
  const BpeModel& model() const { return model_; }

  // Number of rows that an embedding needs: the largest id + 1.
  std::int64_t vocabulary() const { return static_cast<std::int64_t>(model_.bytes.size()); }
  // The id of <|endoftext|>, or of <|end_of_text|> (LLaMA 3), </s> (OPT, LLaMA 2, Mistral) or <eos> (Gemma). Throws
  // Error (Exit::bad_input) if there is none of them.
  std::int32_t end_of_text() const;
  // How many of the bytes that occur in UTF-8 have no token, as 8 in SmolLM: text with them (where tokens are
  // characters: with characters of them that are no token) does not come back. None in the tokenizers trained here.
  int bytes_without_token() const;

  // Throws Error (Exit::bad_input) where the text is not UTF-8. Added tokens in the text become their ids; a cache
  // makes natural text several times as fast. The text is first brought into the form that the tokenizer asks for
  // (NFC).
  std::vector<std::int32_t> encode(std::string_view text) const;
  std::vector<std::int32_t> encode(std::string_view text, EncodeCache& cache) const;
  // The same for the next part of a text; `place` becomes that of the part after it.
  std::vector<std::int32_t> encode(std::string_view text, TextPlace& place, EncodeCache& cache) const;

  // The special tokens that the tokenizer begins and ends every text with: OPT's </s>, the <s> of LLaMA 2 and Mistral,
  // LLaMA 3's <|begin_of_text|>, Gemma's <bos>; none with GPT-2, GPT-NeoX and Qwen.
  const std::vector<std::int32_t>& begin_tokens() const { return model_.before; }
  const std::vector<std::int32_t>& end_tokens() const { return model_.after; }

  // The ids of the text between these tokens: what the `tokenizers` package gives where it is not told
  // add_special_tokens=False.
  std::vector<std::int32_t> encode_with_special_tokens(std::string_view text, EncodeCache& cache) const;

  // decode(encode(text)) == text, except for the NFC, the leading space and the bytes without token above. Where tokens
  // are characters it also differs for a U+2581 in the text and next to added tokens. The text includes that of special
  // tokens, and need not be UTF-8 if the ids do not come from encode. An id beyond the vocabulary has no text, as in
  // the `tokenizers` package: models have embeddings with more rows than their tokenizer has tokens. Throws Error for
  // ids below 0.
  std::string decode(std::span<const std::int32_t> ids) const;

  // The token as printable UTF-8 for labels: control characters and broken characters are escaped (\n, \x1b), spaces
  // stay.
  std::string token_text(std::int32_t id) const;

 private:
  const std::string& bytes_of(std::int32_t id) const;
  void encode_stretch(std::string_view text, TextPlace& place, EncodeCache& cache,
                      std::vector<std::int32_t>& ids) const;
  void encode_plain(std::string_view text, TextPlace place, EncodeCache& cache, std::vector<std::int32_t>& ids) const;
  void encode_pieces(EncodeCache& cache, std::vector<std::int32_t>& ids) const;

  BpeModel model_;
  std::vector<std::string> texts_;  // of every id, where they are not model_.bytes
  BpeRules rules_;
  MergeBounds bounds_;
  std::array<AddedTokens, 2> added_;  // by AddedToken::normalized
  std::vector<Cut> first_cuts_,
      last_cuts_;  // before and after the leading space; the last ones alone where there is none
};

}  // namespace sink
