// eval_<ablation> lens: what the model would predict after each block.
#include <memory>

#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/input_options.h"
#include "eval/json_output.h"
#include "eval/lens/lens_output.h"

namespace sink {
namespace {

constexpr std::int64_t kLongest = 1024;  // tokens

const OutputKind kLensFile = kind_by_text("a logit lens of eval_<ablation>", "{", {"\"schema\"", "\"token_text\""});
const OutputKind kLensPicture = kind_by_text("a picture of a logit lens", "<svg xmlns", {"<title>logit lens</title>"});

struct LensOptions {
  std::string model, picture;
  InputOptions given;
  JsonOutput output;
  ComputeOptions compute;
};

int run_lens(const LensOptions& options, const Ablation& ablation) {
  if (!options.given.any()) throw Error("lens needs --text, --text-file or --tokens; see --help", Exit::usage);
  require_two_files({"--out", options.output.out}, {"--picture", options.picture});
  options.output.require_free(kLensFile);
  if (!options.picture.empty()) require_output(options.picture, kLensPicture, options.output.force);
  auto [checkpoint, model] = load_evaluated(options.model, ablation, options.compute);
  const LensLabels labels{
      .model = options.model,
      .ablation = ablation.name,
      .tokens_T = options.given.one_sequence(checkpoint, model->sizes(), std::min(kLongest, model->sizes().context)),
      .token_text = token_labels(checkpoint, nullptr)};
  print_header(*model, options.model, ablation, options.compute);
  const Lens lens = logit_lens(
      *model, Tensor::from<std::int32_t>({1, static_cast<std::int64_t>(labels.tokens_T.size())}, labels.tokens_T));
  if (!options.picture.empty()) write_file_atomically(options.picture, lens_svg(lens, labels));
  options.output.write(lens_table(lens, labels), lens_json(lens, labels));
  return 0;
}

}  // namespace

EvalCommand lens_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<LensOptions>();
  CLI::App* lens = app.add_subcommand(
      "lens",
      "Shows what each layer would predict. The residual stream goes through the final norm and the "
      "unembedding, as if no other block followed (the logit lens). `settled` is the layer from which on the last "
      "prediction stays. Prints a table on a terminal. With --json or --out, or into a pipe, it writes JSON and prints "
      "the table on stderr.");
  lens->add_option("checkpoint,--model", options->model, kWhatIsEvaluated)->required();
  add_tokens_option(lens, options->given, add_text_options(lens, options->given));
  lens->add_option("--data", options->given.data, "data folder of the tokenizer; for checkpoints without one");
  add_machine_options(lens, options->compute);
  lens->add_option("--picture", options->picture, "all layers and tokens; an SVG file to write")->type_name("FILE");
  add_json_output_options(lens, options->output, "the JSON", "JSON");
  lens->footer("Example:\n  sinklab lens SmolLM2-135M.gguf --text \"The tower is in\" --picture a.svg");
  return {lens, [options, ablation] { return run_lens(*options, ablation); }};
}

}  // namespace sink
