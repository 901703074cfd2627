// eval_<ablation> tokens: a text as the ids that the model reads.
#include <cstdio>
#include <memory>

#include "engine/io/setting.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/input_options.h"

namespace sink {
namespace {

struct TokensOptions {
  std::string checkpoint;
  InputOptions given;
};

int run_tokens(const TokensOptions& options, const Ablation& ablation) {
  if (!options.given.any()) throw Error("tokens needs --text or --text-file; see --help", Exit::usage);
  auto [checkpoint, model] =
      load_evaluated(options.checkpoint, ablation, DType::F32, Device::cpu, {.needs_logits = false});
  Sizes sizes = model->sizes();
  const std::int64_t context = sizes.context;
  if (options.given.context > 0)
    require_context(options.given.context, sizes);
  else
    sizes.context = kLongestSequence;  // all of the text
  Tensor tokens_NT = options.given.sequences(checkpoint, sizes);
  if (tokens_NT.dim(1) > context)
    std::fprintf(stderr, "note: the model reads at most %lld of these %lld tokens at once; --context cuts the text\n",
                 static_cast<long long>(context), static_cast<long long>(tokens_NT.dim(1)));
  for (std::int64_t i = 0; i < tokens_NT.size(); ++i)
    std::printf("%d%c", tokens_NT.data<std::int32_t>()[i], (i + 1) % tokens_NT.dim(1) == 0 ? '\n' : ' ');
  return 0;
}

}  // namespace

EvalCommand tokens_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<TokensOptions>();
  options->given.min_tokens = 1;
  CLI::App* tokens = app.add_subcommand(
      "tokens",
      "Prints the token ids of a text. Each line is one sequence, as --tokens of `sink` and `logits` reads it.");
  tokens->add_option("checkpoint,--model", options->checkpoint, kWhatIsEvaluated)->required();
  add_text_options(tokens, options->given);
  tokens
      ->add_option("--context", options->given.context,
                   "tokens per sequence, at most the training context [the whole text]")
      ->check(whole_number(1));
  tokens->add_option("--data", options->given.data, "data folder of the tokenizer; for checkpoints without one");
  tokens->footer("Example:\n  eval_baseline tokens runs/first/checkpoint.h5 --text \"The cat sat on the mat.\"");
  return {tokens, [options, ablation] { return run_tokens(*options, ablation); }};
}

}  // namespace sink
