// How a conversation becomes tokens, and which of them a model is to learn: the answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/chat/conversation.h"
#include "engine/data/tokenizer/tokenizer.h"

namespace sink {

// Every turn is <before>ROLE<behind>CONTENT<end> and a line end:
//
//   plain    <|ROLE|>\nCONTENT<|end|>\n              in text that any tokenizer can encode (Phi-3 has tokens for it)
//   zephyr   <|ROLE|>\nCONTENT</s>\n                 with the tokenizer's own end of text for </s>, as in the
//                                                    alignment-handbook, by which the study's models were tuned
//   chatml   <|im_start|>ROLE\nCONTENT<|im_end|>\n   tokens of their own where the tokenizer has them, else text
//   llama3   <|start_header_id|>ROLE<|end_header_id|>\n\nCONTENT<|eot_id|>              with no line end
//   gemma    <start_of_turn>ROLE\nCONTENT<end_of_turn>\n       where the assistant is called model
struct ChatTemplate {
  const char *name, *before, *behind;
  const char* end;  // nullptr: the id of the end of text
  const char* between = "\n";
  const char* assistant = "assistant";
};

std::vector<std::string> chat_template_names();
// Throws Error (Exit::usage) for another name.
const ChatTemplate& chat_template_named(const std::string& name);
// The one whose marks are tokens of this tokenizer; plain where none is.
const ChatTemplate& chat_template_of(const Tokenizer& tokenizer);

struct ChatTokens {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> predicted;  // 1 for every id that the loss counts, else 0
};

class ChatEncoder {
 public:
  // Keeps the tokenizer by reference.
  ChatEncoder(const Tokenizer& tokenizer, const ChatTemplate& form);

  // The turns, then the end of text, which stands behind every document. Predicted are the contents of assistants and
  // the end of each, where a model is to stop; nothing else is. What stands around a content and the content are
  // encoded apart, so that an answer has the tokens that a model gives which has read what stands before it. Special
  // tokens are found around contents alone: what people wrote is text, also where it reads <|endoftext|>.
  ChatTokens encode(std::string_view text, const std::vector<ChatTurn>& turns, EncodeCache& cache) const;

  // The parts of it, for a conversation that is going on: what stands before the content of a turn, the content, what
  // ends it, and what stands between turns.
  std::vector<std::int32_t> before(ChatRole role, EncodeCache& cache) const;
  std::vector<std::int32_t> content(std::string_view text, EncodeCache& cache) const;
  std::vector<std::int32_t> end(EncodeCache& cache) const;
  std::vector<std::int32_t> between(EncodeCache& cache) const;

 private:
  const Tokenizer& tokenizer_;
  Tokenizer content_tokenizer_;  // without special tokens
  ChatTemplate form_;
};

}  // namespace sink
