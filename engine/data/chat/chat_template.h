// Chat templates: the tokens of a conversation, and which of them are predicted (the answers).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/chat/conversation.h"
#include "engine/data/tokenizer/tokenizer.h"

namespace sink {

// Every turn is `before`, the role, `after`, the content, `end` and a newline:
//
//   plain    <|ROLE|>\nCONTENT<|end|>\n              any tokenizer can encode it (Phi-3 has tokens for it)
//   zephyr   <|ROLE|>\nCONTENT</s>\n                 with the tokenizer's end of text for </s>, as in the
//                                                    alignment-handbook, which tuned the paper's models
//   chatml   <|im_start|>ROLE\nCONTENT<|im_end|>\n   special tokens where the tokenizer has them, else text
//   llama3   <|start_header_id|>ROLE<|end_header_id|>\n\nCONTENT<|eot_id|>              without a newline
//   gemma    <start_of_turn>ROLE\nCONTENT<end_of_turn>\n       the assistant is called model; no system turn
struct ChatTemplate {
  const char *name, *before, *after;
  const char* end;  // nullptr: the id of the end of text
  const char* between = "\n";
  const char* assistant = "assistant";
  bool has_system = true;
};

std::vector<std::string> chat_template_names();
// Throws Error (Exit::usage) for another name.
const ChatTemplate& chat_template_named(const std::string& name);
// The template whose markers are tokens of this tokenizer; nullptr: none.
const ChatTemplate* chat_template_of(const Tokenizer& tokenizer);

struct ChatTokens {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> predicted;  // 1 for predicted ids, else 0
};

class ChatEncoder {
 public:
  // Keeps the tokenizer by reference.
  ChatEncoder(const Tokenizer& tokenizer, const ChatTemplate& form);

  // The turns, then the end of text. The contents of assistant turns and the end of each are predicted.
  ChatTokens encode(std::string_view text, const std::vector<ChatTurn>& turns, EncodeCache& cache) const;

  // The parts of a turn, for interactive chats: before the content, the content, its end, and between turns. `place` is
  // where the part is in the conversation, and becomes that of the next. Parts are encoded separately, so that an
  // answer has the tokens that a model generates after the markers. Special tokens are recognised in markers only: a
  // content that reads <|endoftext|> is text. Throws Error (Exit::bad_input) for a role that the template lacks.
  std::vector<std::int32_t> before(ChatRole role, TextPlace& place, EncodeCache& cache) const;
  std::vector<std::int32_t> content(std::string_view text, TextPlace& place, EncodeCache& cache) const;
  std::vector<std::int32_t> end(TextPlace& place, EncodeCache& cache) const;
  std::vector<std::int32_t> between(TextPlace& place, EncodeCache& cache) const;

 private:
  const Tokenizer& tokenizer_;
  Tokenizer content_tokenizer_;  // without special tokens
  ChatTemplate form_;
};

}  // namespace sink
