#include "eval/given_input.h"

#include "engine/io/file.h"
#include "eval/token_sequences.h"

namespace sink {
namespace {

constexpr std::int64_t kLongestSequence = std::int64_t{1} << 40;  // of tokens, where the model's context is no limit

std::string text_of(const GivenInput& given) {
  if (given.text) return *given.text;
  std::string text = read_file("text", *given.text_file);
  if (text.ends_with('\n')) text.pop_back();  // the end of the last line is the file's, not the text's
  return text;
}

}  // namespace

std::string GivenInput::name() const {
  constexpr std::size_t kLongestName = 40;
  if (tokens) return *tokens;
  if (text_file) return *text_file;
  return text->size() <= kLongestName ? *text : text->substr(0, kLongestName) + "...";
}

TextCut GivenInput::cut(const Checkpoint& checkpoint, const TrainedOn& run, const Sizes& sizes) const {
  const bool begins = run.fixed_token < 0 && checkpoint.attributes.contains("begin_token");
  return {.vocabulary = sizes.vocabulary,
          .longest = sizes.context,
          .context = context,
          .least = least,
          .fixed_token = begins ? checkpoint.integer("begin_token") : run.fixed_token,
          .fixed_position = begins ? 1 : run.fixed_position};
}

Tensor GivenInput::sequences(const Checkpoint& checkpoint, const Sizes& sizes) const {
  if (tokens) return read_token_sequences(*tokens, sizes.vocabulary, sizes.context, least);
  const TrainedOn run = trained_on(checkpoint, sizes);
  const Tokenizer tokenizer = tokenizer_of(checkpoint, data.empty() ? run.data : data);
  return text_sequences(tokenizer, text_of(*this), cut(checkpoint, run, sizes));
}

std::vector<std::int32_t> GivenInput::one_sequence(const Checkpoint& checkpoint, const Sizes& sizes,
                                                   std::int64_t longest) const {
  GivenInput whole = *this;
  whole.context = 0;
  whole.least = 1;
  Sizes as_long = sizes;
  as_long.context = kLongestSequence;
  const Tensor tokens_NT = whole.sequences(checkpoint, as_long);
  SINK_CHECK(tokens_NT.dim(0) == 1 && tokens_NT.dim(1) <= longest, "text",
             "expected one sequence of at most " + std::to_string(longest) + " tokens, got " +
                 std::to_string(tokens_NT.dim(0)) + " of " + std::to_string(tokens_NT.dim(1)),
             Exit::bad_input);
  const std::int32_t* ids = tokens_NT.data<std::int32_t>();
  return {ids, ids + tokens_NT.dim(1)};
}

Tensor GivenInput::sequences(const Tokenizer& tokenizer, std::int64_t longest) const {
  std::int64_t vocabulary = tokenizer.vocabulary();
  if (tokens) return read_token_sequences(*tokens, vocabulary, longest, least);
  return text_sequences(tokenizer, text_of(*this),
                        {.vocabulary = vocabulary, .longest = longest, .context = context, .least = least});
}

std::vector<CLI::Option*> add_text_options(CLI::App* command, GivenInput& given) {
  CLI::Option* text =
      command->add_option("--text", given.text,
                          "a text, tokenised as the checkpoint's data was, with its --fixed-token put in at "
                          "--fixed-position, if there was one");
  CLI::Option* file = command->add_option("--text-file", given.text_file, "the same, from a UTF-8 file");
  text->excludes(file);
  return {text, file};
}

CLI::Option* add_tokens_option(CLI::App* command, GivenInput& given, const std::vector<CLI::Option*>& texts) {
  CLI::Option* tokens =
      command->add_option("--tokens", given.tokens,
                          "text file with one sequence of ids per line, or HDF5 with a dataset `tokens`, N x T whole "
                          "numbers; `tokens` prints such ids of a text");
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
