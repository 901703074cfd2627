// The input that a user gives on a command line: a file of token ids, or text on the command line or in a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "engine/tensor.h"
#include "eval/sink/trained_on.h"
#include "eval/text_sequences.h"
#include "model/sizes.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sink {

inline constexpr std::int64_t kLongestSequence = std::int64_t{1} << 40;  // tokens, where the context is no limit

struct InputOptions {
  std::optional<std::string> tokens, text, text_file;
  std::string data;             // folder of a tokenizer, for checkpoints without one
  std::int64_t context = 0;     // tokens per sequence of text; 0: the length of the text
  std::int64_t min_tokens = 2;  // per sequence
  std::optional<bool> bos;      // whether a text begins with the begin token; none: as the model's texts do

  bool any() const { return tokens || text || text_file; }
  // Whether each line of --text-file is one text.
  bool is_jsonl() const { return text_file && text_file->ends_with(".jsonl"); }
  // The file, or the beginning of the text, for reports.
  std::string name() const;
  // --data is read for a tokenizer, where the checkpoint has none. Throws Error (Exit::usage) for other data.
  void require_read_data(const Checkpoint& checkpoint) const;
  // I32 (N, T), by the tokenizer of the checkpoint or of `data`. Throws Error: see token_sequences.h, text_sequences.h.
  Tensor sequences(const Checkpoint& checkpoint, const Sizes& sizes) const;
  // The same without a checkpoint: at most `max_tokens` tokens of this tokenizer.
  Tensor sequences(const Tokenizer& tokenizer, std::int64_t max_tokens) const;
  // All of it as one sequence. Throws Error (Exit::bad_input) for more than `max_tokens` tokens or several sequences.
  std::vector<std::int32_t> one_sequence(const Checkpoint& checkpoint, const Sizes& sizes,
                                         std::int64_t max_tokens) const;
  // How text is cut for the checkpoint: with the fixed token of its run, or else the begin token of its tokenizer, or
  // as `bos` says. Throws Error (Exit::usage) for a `bos` that the model has no token for.
  TextCut cut(const Checkpoint& checkpoint, const TrainedOn& run, const Sizes& sizes) const;
  // The tokenizer of the checkpoint, of `data`, or of the data that the checkpoint was trained on. Throws Error
  // (Exit::usage) for a model for which no text is read.
  Tokenizer tokenizer(const Checkpoint& checkpoint, const TrainedOn& run) const;
};

// --bos and --no-bos.
CLI::Option* add_bos_option(CLI::App* command, std::optional<bool>& bos);
// --text and --text-file, which exclude each other, then --bos, which needs one of them.
std::vector<CLI::Option*> add_text_options(CLI::App* command, InputOptions& input);
// --tokens, which excludes those.
CLI::Option* add_tokens_option(CLI::App* command, InputOptions& input, const std::vector<CLI::Option*>& texts);

// Throws Error (Exit::usage) for sequences longer than the context of the model or not longer than its prefix.
void require_context(std::int64_t context, const Sizes& sizes, const std::string& flag = "--context");

}  // namespace sink
