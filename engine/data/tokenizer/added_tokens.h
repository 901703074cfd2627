// Finds added tokens such as <|endoftext|> in text.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

inline constexpr std::size_t kLongestAdded = 1024;  // bytes of an added token; bounds the steps per byte of text

// The ids that the `tokenizers` package gives to the added tokens of `model`, whatever its file says: that of the token
// in the vocabulary or of an equal one before it, or else the next free one.
std::vector<std::int32_t> ids_of_package(const BpeModel& model);

// The names of tokens that end a text or a turn, as in llama.cpp.
inline constexpr std::string_view kEndTokenNames[] = {kEndOfText,   "<|end_of_text|>",
                                                      "</s>",       "<eos>",
                                                      "<|im_end|>", "<|eot_id|>",
                                                      "<|eom_id|>", "<end_of_turn>",
                                                      "<|end|>",    "<|return|>",
                                                      "<|call|>",   "<|calls|>",
                                                      "<|flush|>",  "<end_of_utterance>",
                                                      "<EOT>",      "_<EOT>",
                                                      "[EOT]",      "[EOS]",
                                                      "<turn|>",    "<|tool_response>",
                                                      "[e~[",       "<\uff5cend\u2581of\u2581sentence\uff5c>"};
// Those that a vocabulary has. <|end|> ends a turn of Phi-3 and only a part of one where there are <|return|> and
// <|call|> (gpt-oss), or <|flush|> and one of <|call|> and <|calls|>.
std::vector<std::string_view> end_tokens_among(const std::function<bool(std::string_view)>& has);

// What is left of a text whose beginning a token takes.
std::string_view without_leading_space(std::string_view text);

class AddedTokens {
 public:
  // A stretch of the text: an added token's id, or BpeModel::kNone and the text between them.
  struct Stretch {
    std::int32_t id;
    std::string_view text;
    bool takes_right = false;  // of a token: it takes the white space after it
  };

  // The added tokens of `model` with this value of `normalized`; normalized ones are searched in their normal form.
  AddedTokens(const BpeModel& model, bool normalized);

  // Appends the stretches of `text`, from left to right; of tokens that begin at the same byte the longest. As in the
  // `tokenizers` package, a token may begin in white space that the previous one takes; what follows it is text again.
  void split(std::string_view text, std::vector<Stretch>& stretches) const;

 private:
  struct Node {
    std::int32_t token = BpeModel::kNone;  // in tokens_, that ends here
    std::vector<std::pair<char, std::int32_t>> next;
  };

  void insert(std::string_view content, std::int32_t token);
  std::int32_t longest_at(std::string_view text, std::size_t at, std::size_t& end) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
  std::array<std::int32_t, 256> first_;  // node of a first byte
};

}  // namespace sink
