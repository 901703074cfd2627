// The tokenizer in the metadata of a GGUF file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// The values of the keys tokenizer.ggml.*; missing ones are empty.
struct GgufVocabulary {
  std::string model;                      // "gpt2": byte-level BPE; "llama": BPE of characters by scores
  std::string pre;                        // with "gpt2": the name of the pre-tokenizer; empty: default
  std::vector<std::string> tokens;        // by id
  std::vector<float> scores;              // with "llama"
  std::vector<std::int32_t> token_types;  // TokenKind; with "gpt2" none: those in the byte alphabet are normal
  std::vector<std::string> merges;        // with "gpt2": "left right"
  std::optional<std::int64_t> bos_token_id, eos_token_id;
  std::optional<bool> add_bos_token, add_eos_token, remove_extra_whitespaces;
  bool is_phi3 = false;  // by `general.name`: special tokens take the white space after them, as in llama.cpp
  std::optional<bool> add_space_prefix;  // with "llama"; llama.cpp ignores it with "gpt2"
};

// Whether gguf_model knows the pre-tokenizer of a "gpt2" vocabulary.
bool knows_pre_tokenizer(const std::string& pre);

// The ids of tokens that end a generated text by their names, as in llama.cpp: end_tokens_among (added_tokens.h), and
// fill-in tokens for padding, repositories and files.
std::vector<std::int64_t> gguf_end_tokens(std::span<const std::string_view> tokens);

// The tokenizer of these values. Where llama.cpp and HuggingFace's library differ it is the latter's, which the models
// were trained with: NFC with Qwen. As in llama.cpp, tokens that end a text or turn and fill-in tokens are special
// whatever type the file gives them. Special tokens around a text are those that the file asks for or, where it says
// nothing, a beginning one with "llama", "llama-bpe" and "tekken". `path` names the file in messages. Throws Error
// (Exit::bad_input) for values that do not fit each other and, by their name, for a model or a `pre` that is not
// supported.
BpeModel gguf_model(const GgufVocabulary& vocabulary, const std::string& path);

}  // namespace sink
