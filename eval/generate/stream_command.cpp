// eval_<ablation> stream: the perplexity of a long text by what is kept of it.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "engine/io/compute_options.h"
#include "engine/io/number_check.h"
#include "engine/precision.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/generate/streaming.h"
#include "eval/given_input.h"
#include "eval/json_output.h"

namespace sink {
namespace {

struct StreamOptions {
  std::string model;
  GivenInput given;
  ComputeOptions compute;
  std::vector<std::string> keep;
  JsonOutput output;
  std::int64_t tokens = 20000, stretches = 8;
};

void show_progress(const Eviction& eviction, std::int64_t read, std::int64_t tokens) {
  if (read % 16 != 0 && read != tokens) return;
  std::fprintf(stderr, "\r%s: %lld of %lld tokens%s", eviction.name().c_str(), static_cast<long long>(read),
               static_cast<long long>(tokens), read == tokens ? "\n" : "");
}

// What is kept where nothing is said: half the context, with and without the first tokens, and all.
std::vector<Eviction> evictions_of(const StreamOptions& options, std::int64_t context) {
  std::vector<Eviction> evictions;
  for (const std::string& keep : options.keep) evictions.push_back(eviction_named(keep));
  if (evictions.empty()) {
    const std::int64_t window = std::max<std::int64_t>(8, std::min<std::int64_t>(context / 2, 1024));
    evictions = {{}, {0, window}, {1, window - 1}, {4, window - 4}};
  }
  return evictions;
}

int run_stream(const StreamOptions& options, const Ablation& ablation) {
  if (!options.given.any()) throw Error("stream needs --text-file, --text or --tokens; see --help", Exit::usage);
  std::vector<Eviction> asked;
  for (const std::string& keep : options.keep) asked.push_back(eviction_named(keep));
  options.compute.apply();
  const DType type = stored_type(options.compute.precision);
  const Device device = device_named(options.compute.device);
  EvaluatedModel evaluated = load_evaluated(options.model, ablation, type, device);
  const std::int64_t context = evaluated.model->sizes().context;
  std::vector<std::int32_t> ids = options.given.one_sequence(evaluated.checkpoint, evaluated.model->sizes(), INT64_MAX);
  if (static_cast<std::int64_t>(ids.size()) > options.tokens) ids.resize(static_cast<std::size_t>(options.tokens));
  const auto tokens = static_cast<std::int64_t>(ids.size());
  std::vector<StreamLoss> losses;
  for (const Eviction& eviction : evictions_of(options, context)) {
    std::unique_ptr<LanguageModel> longer;
    if (!eviction.any() && tokens > context)
      longer = load_evaluated(options.model, ablation, type, device, {.context = tokens}).model;
    const bool terminal = ::isatty(STDERR_FILENO);
    losses.push_back(
        stream_loss(longer ? *longer : *evaluated.model, ids, eviction, options.stretches, [&](std::int64_t read) {
          if (terminal) show_progress(eviction, read, tokens);
        }));
  }
  options.output.write(stream_table(losses), stream_json(options.model, ablation.name, context, tokens, losses));
  return 0;
}

}  // namespace

EvalCommand stream_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<StreamOptions>();
  CLI::App* stream = app.add_subcommand(
      "stream",
      "Reads a text token by token and forgets older tokens, as StreamingLLM does: what does each token's loss become "
      "where the first tokens are forgotten, too? A terminal gets the table alone; a pipe, a file or --json JSON, and "
      "stderr the table.");
  stream->add_option("--checkpoint,--model,model", options->model, kWhatIsEvaluated)->required();
  add_tokens_option(stream, options->given, add_text_options(stream, options->given));
  stream->add_option("--data", options->given.data,
                     "data folder whose tokenizer to take, where the checkpoint has none");
  stream
      ->add_option("--keep", options->keep,
                   "what is kept, each one a row: all; the last tokens, such as 1024; the first and the last, such as "
                   "4+1020 [all, half the context, the same with the first 1 and 4 of the text]")
      ->delimiter(',')
      ->allow_extra_args(false);
  stream->add_option("--most", options->tokens, "tokens of the text to read at most")
      ->check(whole_number(2, 100000000))
      ->capture_default_str();
  stream->add_option("--stretches", options->stretches, "of the text, each with a column")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  add_json_option(stream, options->output);
  add_machine_options(stream, options->compute, {"f32", "bf16", "tf32", "f64"});
  stream->footer("Example:\n  eval_llama stream MODEL.gguf --text-file novel.txt --keep 1024,4+1020 --most 20000");
  return {stream, [options, ablation] { return run_stream(*options, ablation); }};
}

}  // namespace sink
