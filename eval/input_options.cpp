#include "eval/input_options.h"

#include <CLI/CLI.hpp>

#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"
#include "eval/token_sequences.h"

namespace sink {
namespace {

std::string text_of(const InputOptions& input) {
  if (input.text) return *input.text;
  if (input.is_jsonl())
    throw Error(
        *input.text_file + ": only `sink` and `score` read .jsonl, a text in each line: give a file with one text",
        Exit::usage);
  const std::string bytes = read_file("text", *input.text_file == "-" ? "/dev/stdin" : *input.text_file);
  std::string_view text = without_byte_order_mark(bytes);
  // The line end of the file is no part of the text.
  if (text.ends_with('\n')) text.remove_suffix(text.ends_with("\r\n") ? 2 : 1);
  return std::string(text);
}

}  // namespace

std::string InputOptions::name() const {
  constexpr std::size_t kLongestName = 40;  // bytes
  if (tokens) return *tokens;
  if (text_file) return *text_file == "-" ? "standard input" : *text_file;
  return text->size() <= kLongestName ? *text : std::string(utf8_prefix(*text, kLongestName)) + "...";
}

TextCut InputOptions::cut(const Checkpoint& checkpoint, const TrainedOn& run, const Sizes& sizes) const {
  const bool begins = bos || (run.fixed_token < 0 && checkpoint.attributes.contains("begin_token"));
  return {.vocabulary = sizes.vocabulary,
          .max_tokens = sizes.context,
          .context = context,
          .min_tokens = min_tokens,
          .fixed_token = begins ? first_token(checkpoint, run, "--bos", bos) : run.fixed_token,
          .fixed_position = begins ? 1 : run.fixed_position};
}

Tokenizer InputOptions::tokenizer(const Checkpoint& checkpoint, const TrainedOn& run) const {
  if (checkpoint.attributes.contains("text_refusal"))
    throw Error(checkpoint.path + ": " + printable(checkpoint.attribute("text_refusal")) + "; give ids with --tokens",
                Exit::usage);
  return tokenizer_of(checkpoint, data.empty() ? run.data : data);
}

void InputOptions::require_read_data(const Checkpoint& checkpoint) const {
  if (data.empty() || !any() || (!tokens && !checkpoint.attributes.contains("tokenizer_json"))) return;
  throw Error("--data is not read for this input" +
                  std::string(tokens ? "" : ", because the checkpoint has a tokenizer") + ": leave it out",
              Exit::usage);
}

Tensor InputOptions::sequences(const Checkpoint& checkpoint, const Sizes& sizes) const {
  require_read_data(checkpoint);
  if (tokens) return read_token_sequences(*tokens, sizes.vocabulary, sizes.context, min_tokens);
  const TrainedOn run = trained_on(checkpoint, sizes);
  const Tokenizer of_model = tokenizer(checkpoint, run);
  const std::string given = text_of(*this);
  print_text_notes(checkpoint, given);
  return text_sequences(of_model, given, cut(checkpoint, run, sizes));
}

Tensor InputOptions::sequences(const Tokenizer& tokenizer, std::int64_t max_tokens) const {
  std::int64_t vocabulary = tokenizer.vocabulary();
  if (tokens) return read_token_sequences(*tokens, vocabulary, max_tokens, min_tokens);
  if (bos.value_or(false)) throw Error("--bos: this model has no begin token; leave it out", Exit::usage);
  return text_sequences(
      tokenizer, text_of(*this),
      {.vocabulary = vocabulary, .max_tokens = max_tokens, .context = context, .min_tokens = min_tokens});
}

std::vector<std::int32_t> InputOptions::one_sequence(const Checkpoint& checkpoint, const Sizes& sizes,
                                                     std::int64_t max_tokens) const {
  InputOptions whole = *this;
  whole.context = 0;
  whole.min_tokens = 1;
  Sizes unlimited = sizes;
  unlimited.context = kLongestSequence;
  const Tensor tokens_NT = whole.sequences(checkpoint, unlimited);
  SINK_CHECK(tokens_NT.dim(0) == 1, "text",
             "expected one sequence of tokens, got " + std::to_string(tokens_NT.dim(0)) + "; give one of them",
             Exit::bad_input);
  SINK_CHECK(tokens_NT.dim(1) <= max_tokens, "text",
             "expected at most " + std::to_string(max_tokens) + " tokens, got " + std::to_string(tokens_NT.dim(1)) +
                 "; shorten the text",
             Exit::bad_input);
  const std::int32_t* ids = tokens_NT.data<std::int32_t>();
  return {ids, ids + tokens_NT.dim(1)};
}

CLI::Option* add_bos_option(CLI::App* command, std::optional<bool>& bos) {
  return command->add_flag_function(
      "--bos,!--no-bos", [&bos](std::int64_t count) { bos = count > 0; },
      "texts begin with the begin token; --no-bos: not [as the tokenizer or the run does]");
}

std::vector<CLI::Option*> add_text_options(CLI::App* command, InputOptions& input) {
  CLI::Option* text = command->add_option(
      "--text", input.text,
      "a text; tokenised like the training data, after its begin token or with its --fixed-token at --fixed-position");
  CLI::Option* file =
      command->add_option("--text-file", input.text_file, "the same, from a UTF-8 file; - is standard input");
  text->excludes(file);
  CLI::Option* bos = add_bos_option(command, input.bos);
  command->parse_complete_callback([bos, text, file] {
    if (*bos && !*text && !*file)
      throw CLI::ValidationError("--bos", "needs --text or --text-file: only a text has a begin token");
  });
  return {text, file, bos};
}

CLI::Option* add_tokens_option(CLI::App* command, InputOptions& input, const std::vector<CLI::Option*>& texts) {
  CLI::Option* tokens = command->add_option(
      "--tokens", input.tokens,
      "file of token ids; text with one sequence per line, or HDF5 with a dataset `tokens` of N x T "
      "integers; the command `tokens` prints the ids of a text");
  for (CLI::Option* text : texts) tokens->excludes(text);
  return tokens;
}

void require_context(std::int64_t context, const Sizes& sizes, const std::string& flag) {
  if (context > sizes.context)
    throw Error(flag + " must be at most the " + std::to_string(sizes.context) + " tokens of the model, got " +
                    std::to_string(context),
                Exit::usage);
  if (context <= sizes.prefix)
    throw Error(flag + " must be more than the " + std::to_string(sizes.prefix) +
                    " tokens of the checkpoint's prefix, got " + std::to_string(context),
                Exit::usage);
}

}  // namespace sink
