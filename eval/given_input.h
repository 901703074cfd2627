// What a user gives a model to read on a command line: a file of ids, or text in one of two ways.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "engine/tensor.h"
#include "eval/given_text.h"
#include "eval/sink/trained_on.h"
#include "model/sizes.h"

namespace sink {

struct GivenInput {
  std::optional<std::string> tokens, text, text_file;
  std::string data;          // the folder of a tokenizer, where the checkpoint has none
  std::int64_t context = 0;  // tokens per sequence of text; 0: as many as the text
  std::int64_t least = 2;    // tokens per sequence at least

  bool any() const { return tokens || text || text_file; }
  // How a report names it: the file, or the beginning of the sentence.
  std::string name() const;
  // I32 (N, T), by the checkpoint's tokenizer or that of `data`. Throws Error: see eval/token_sequences.h,
  // given_text.h.
  Tensor sequences(const Checkpoint& checkpoint, const Sizes& sizes) const;
  // How a text of the checkpoint is cut: its fixed token, or the one that its tokenizer begins with, in its place.
  TextCut cut(const Checkpoint& checkpoint, const TrainedOn& run, const Sizes& sizes) const;
  // All of it as one sequence of at most `longest` tokens. Throws Error (Exit::bad_input) where it is longer, or
  // --tokens has more sequences than one.
  std::vector<std::int32_t> one_sequence(const Checkpoint& checkpoint, const Sizes& sizes, std::int64_t longest) const;
  // The same where there is no checkpoint: at most `longest` tokens of this tokenizer.
  Tensor sequences(const Tokenizer& tokenizer, std::int64_t longest) const;
};

// --text and --text-file, of which one can be given.
std::vector<CLI::Option*> add_text_options(CLI::App* command, GivenInput& given);
// --tokens, which excludes those.
CLI::Option* add_tokens_option(CLI::App* command, GivenInput& given, const std::vector<CLI::Option*>& texts);

// Refuses (Error, Exit::usage) sequences longer than the model's or with nothing behind its prefix.
void require_context(std::int64_t context, const Sizes& sizes, const std::string& flag = "--context");

}  // namespace sink
