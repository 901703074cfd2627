// eval_<ablation> stream: the perplexity of a long text by cache size.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "engine/io/compute_options.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/setting.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/generate/generation_options.h"
#include "eval/generate/streaming.h"
#include "eval/input_options.h"
#include "eval/json_output.h"

namespace sink {
namespace {

const OutputKind kStreamPicture = kind_by_text("a picture of stream", "<svg xmlns", {"<title>stream</title>"});

struct StreamOptions {
  std::string model, picture;
  InputOptions given;
  ComputeOptions compute;
  std::vector<std::string> keep;
  RoundingOptions rounding;
  JsonOutput output;
  std::int64_t tokens = 20000, stretches = 8;
};

void show_progress(const Eviction& eviction, std::int64_t read, std::int64_t tokens) {
  std::fprintf(stderr, "\r%s: %lld of %lld tokens%s", eviction.name().c_str(), static_cast<long long>(read),
               static_cast<long long>(tokens), read == tokens ? "\n" : "");
}

// By default all tokens, and half the context with 0, 1 and 4 of the first tokens.
std::vector<Eviction> evictions_of(const StreamOptions& options, const Sizes& sizes) {
  std::vector<Eviction> evictions;
  for (const std::string& keep : options.keep) evictions.push_back(eviction_named(keep));
  if (evictions.empty()) {
    if (sizes.attention_layers() < sizes.layers) return {{}};  // whose states have read all tokens
    const std::int64_t window = std::max<std::int64_t>(8, std::min<std::int64_t>(sizes.context / 2, 1024));
    evictions = {{}, {0, window}, {1, window - 1}, {4, window - 4}};
  }
  return evictions;
}

int run_stream(const StreamOptions& options, const Ablation& ablation) {
  if (!options.given.any()) throw Error("stream needs --text-file, --text or --tokens; see --help", Exit::usage);
  for (const std::string& keep : options.keep) eviction_named(keep);  // throws before the model is loaded
  require_two_files({"--out", options.output.out}, {"--picture", options.picture});
  if (!options.picture.empty()) require_output(options.picture, kStreamPicture, options.output.force);
  EvaluatedModel evaluated = load_evaluated(options.model, ablation, options.compute);
  const std::int64_t context = evaluated.model->sizes().context;
  std::vector<std::int32_t> ids = options.given.one_sequence(evaluated.checkpoint, evaluated.model->sizes(), INT64_MAX);
  if (static_cast<std::int64_t>(ids.size()) > options.tokens) ids.resize(static_cast<std::size_t>(options.tokens));
  const auto tokens = static_cast<std::int64_t>(ids.size());
  if (tokens < 2) throw Error("stream needs at least two tokens, got " + std::to_string(tokens), Exit::usage);
  const std::vector<Eviction> evictions = evictions_of(options, evaluated.model->sizes());
  const std::vector<CacheRounding> roundings = options.rounding.roundings(tokens);
  // Positions of the text need a context as long as the text.
  auto of_text = [](const Eviction& eviction) { return !eviction.any() || eviction.heavy > 0; };
  for (const Eviction& eviction : evictions)  // throws if one does not fit
    for (const CacheRounding& rounding : roundings.empty() ? std::vector<CacheRounding>(1) : roundings)
      TokenReader(*evaluated.model, eviction, rounding);
  std::unique_ptr<LanguageModel> longer;
  if (tokens > context && std::ranges::any_of(evictions, of_text))
    longer = load_evaluated(options.model, ablation, options.compute, {.context = tokens}).model;
  print_header(*evaluated.model, options.model, ablation, options.compute);
  const bool terminal = ::isatty(STDERR_FILENO);
  std::vector<StreamLoss> losses;
  for (const Eviction& eviction : evictions) {
    LanguageModel& model = longer && of_text(eviction) ? *longer : *evaluated.model;
    std::int64_t fitting = 0;
    try {
      std::ranges::move(stream_losses(model, ids, eviction, roundings, options.stretches,
                                      [&](std::int64_t read) {
                                        fitting = read;
                                        if (terminal) show_progress(eviction, read, tokens);
                                      }),
                        std::back_inserter(losses));
    } catch (const OutOfMemory& error) {
      throw Error(error.what() + std::string(fitting > 0 ? ": --max-tokens " + std::to_string(fitting) + " fits"
                                                         : ": a smaller --keep needs less"),
                  Exit::out_of_memory);
    }
  }
  if (!options.picture.empty()) write_file_atomically(options.picture, stream_svg(losses));
  options.output.write(stream_table(losses), stream_json(options.model, ablation.name, context, tokens, losses));
  return 0;
}

}  // namespace

EvalCommand stream_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<StreamOptions>();
  CLI::App* stream = app.add_subcommand("stream",
                                        "Measures losses in a bounded or rounded cache. As in StreamingLLM, "
                                        "older tokens are evicted; the table "
                                        "compares the loss with and without the first tokens. --kv-bits rounds cached "
                                        "keys and values and compares the next "
                                        "token with that of the exact cache. Prints a table on a terminal. With --json "
                                        "or --out, or into a pipe, it writes "
                                        "JSON and prints the table on stderr.");
  stream->add_option("--checkpoint,--model,model", options->model, kWhatIsEvaluated)->required();
  add_tokens_option(stream, options->given, add_text_options(stream, options->given));
  stream->add_option("--data", options->given.data, "data folder of the tokenizer; for checkpoints without one");
  stream
      ->add_option(
          "--keep", options->keep,
          "what is kept, one row each; all; the last tokens, such as 1024; the first and the last, such as "
          "4+1020; the tokens with the most attention in each head (H2O) and the last, such as h64+960 [all, "
          "half the context, the same with the first 1 and 4 of the text; all alone where layers have no attention]")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_rounding_options(stream, options->rounding);
  stream->add_option("--max-tokens,--most", options->tokens, "maximum number of tokens of the text to read")
      ->check(whole_number(2, 100000000))
      ->capture_default_str();
  stream->add_option("--stretches", options->stretches, "of the text, each with a column")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  stream->add_option("--picture", options->picture, "perplexity by position, a line each; an SVG file to write")
      ->type_name("FILE");
  add_json_option(stream, options->output);
  add_machine_options(stream, options->compute);
  stream->footer(
      "Example:\n  eval_llama stream MODEL.gguf --text-file novel.txt \\\n    --keep 1024,4+1020 --max-tokens 20000\n  "
      "eval_llama stream MODEL.gguf "
      "--text-file novel.txt --keep all \\\n    --max-tokens 1000 --kv-bits 4,2 --keep-first 0,4");
  return {stream, [options, ablation] { return run_stream(*options, ablation); }};
}

}  // namespace sink
