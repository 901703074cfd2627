// Text that somebody gives a model to read, as sequences of the ids it was trained on.
#pragma once

#include <functional>
#include <string>

#include "engine/data/data_source.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "engine/tensor.h"

namespace sink {

// The tokenizer that a checkpoint carries or, where it has none, that of `data_folder` (may be empty). Throws Error:
// Exit::usage where there is neither, Exit::bad_input where it cannot be used.
Tokenizer tokenizer_of(const Checkpoint& checkpoint, const std::string& data_folder);

// Labels of tokens: the data's, where there is any, the checkpoint's tokenizer's, or just the numbers.
std::function<std::string(std::int32_t)> token_labels(const Checkpoint& checkpoint, const DataSource* data);

// How text becomes sequences.
struct TextCut {
  std::int64_t vocabulary = 0;  // V: ids are below it
  std::int64_t longest = 0;     // tokens of a sequence at most
  std::int64_t context = 0;     // tokens of a sequence; 0: as many as the text, up to `longest`
  std::int64_t least = 2;       // tokens of a sequence at least; one predicts nothing
  // Id that stands at this position, from 1, of every sequence that is long enough, and pushes the text on; -1: none.
  std::int64_t fixed_token = -1, fixed_position = 1;
};

// I32 (N, T): the tokens of `text` in order; those behind the last whole sequence are left out, with a note on stderr.
// Throws Error: Exit::bad_input for text that is not UTF-8, has too few tokens, or one that the model does not have.
Tensor text_sequences(const Tokenizer& tokenizer, const std::string& text, const TextCut& cut);

}  // namespace sink
