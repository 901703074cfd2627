// Text that a user gives a model to read, as sequences of the token ids that it was trained on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/data/data_source.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "engine/tensor.h"

namespace sink {

// The tokenizer in the checkpoint or, if it has none, that of `data_folder` (may be empty). Throws Error: Exit::usage
// where there is neither or the model can be given no text, Exit::bad_input for a tokenizer that cannot be used.
Tokenizer tokenizer_of(const Checkpoint& checkpoint, const std::string& data_folder);

// Prints on stderr what a reader of `text` should know: `text_note` of the checkpoint, and special tokens that llama2.c
// does not find in a text.
void print_text_notes(const Checkpoint& checkpoint, std::string_view text);

// The label of a token: from the data if there is any, else from the tokenizer in the checkpoint, else its id.
std::function<std::string(std::int32_t)> token_labels(const Checkpoint& checkpoint, const DataSource* data);

// How text is cut into sequences.
struct TextCut {
  std::int64_t vocabulary = 0;  // V: ids are below it
  std::int64_t max_tokens = 0;  // of a sequence
  std::int64_t context = 0;     // tokens of a sequence; 0: as many as the text has, at most `max_tokens`
  std::int64_t min_tokens = 2;  // of a sequence; one token predicts nothing
  // Id inserted at this position, from 1, of every sequence that is long enough; -1: none.
  std::int64_t fixed_token = -1, fixed_position = 1;
};

// I32 (N, T): the tokens of `text` in order. Tokens after the last whole sequence are left out, with a note on stderr;
// so is a text noted that begins with the fixed token before it.
// Throws Error (Exit::bad_input) for text that is not UTF-8, has too few tokens, or a token outside the vocabulary.
Tensor text_sequences(const Tokenizer& tokenizer, const std::string& text, const TextCut& cut);

// JSONL of {"text", "domain"}, as the probes of the paper are: one sequence of one length for each text.
struct TextLines {
  Tensor tokens_NT;                  // I32
  std::vector<std::string> domains;  // [N]; empty for a line without one
};

// The first cut.context tokens of each text, with the fixed token of the cut. Shorter texts are left out, with a note
// on stderr. Throws Error (Exit::bad_input), with the line, for one without `text`, and if no text is long enough.
TextLines read_text_lines(const std::string& path, const Tokenizer& tokenizer, const TextCut& cut);

}  // namespace sink
