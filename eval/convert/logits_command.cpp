// eval_<ablation> logits: everything that a model computes on given tokens, as HDF5.
#include <cstdio>
#include <memory>
#include <numeric>

#include "engine/io/build_info.h"
#include "engine/io/compute_options.h"
#include "engine/io/output_kind.h"
#include "engine/precision.h"
#include "eval/convert/logits_file.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/given_input.h"

namespace sink {
namespace {

const OutputKind kLogitsFile = {"a file of eval_<ablation> logits", is_logits_file};

struct LogitsOptions {
  std::string checkpoint, out;
  GivenInput given;
  ComputeOptions compute;
  std::vector<std::int64_t> layers;
  bool force = false;
};

int run_logits(const LogitsOptions& options, const Ablation& ablation) {
  if (!options.given.any()) throw Error("logits needs --tokens FILE, --text or --text-file; see --help", Exit::usage);
  options.compute.apply();
  DType type = stored_type(options.compute.precision);
  auto [checkpoint, model] = load_evaluated(options.checkpoint, ablation, type, device_named(options.compute.device));
  Tensor tokens_NT = options.given.sequences(checkpoint, model->sizes());
  require_output(options.out, kLogitsFile, options.force);
  std::vector<std::int64_t> layers = options.layers;
  if (layers.empty()) {
    layers.resize(static_cast<std::size_t>(model->sizes().layers));
    std::iota(layers.begin(), layers.end(), 0);
  }
  write_logits_file(options.out, *model, tokens_NT, layers,
                    options.compute.batch_of(tokens_NT.dim(1), model->sizes().width), type,
                    {{"ablation", ablation.name},
                     {"policies", ablation.policies},
                     {"checkpoint", options.checkpoint},
                     {"precision", options.compute.precision},
                     {"commit", build_commit()}});
  std::printf("%s\n", options.out.c_str());
  return 0;
}

}  // namespace

EvalCommand logits_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<LogitsOptions>();
  CLI::App* logits = app.add_subcommand(
      "logits",
      "Everything the model computes on given tokens, as HDF5 for other programs to compare with: logits, losses, and "
      "of chosen layers hidden states, queries, keys, values and attention maps. engine/io/CHECKPOINT.md describes "
      "the file.");
  logits->add_option("--checkpoint,--model", options->checkpoint, kWhatIsEvaluated)->required();
  add_tokens_option(logits, options->given, add_text_options(logits, options->given));
  logits->add_option("--data", options->given.data,
                     "data folder whose tokenizer to take, where the checkpoint has none");
  logits->add_option("--out", options->out, "HDF5 file to write; all of it is in memory until it is written")
      ->required();
  logits->add_flag("--force", options->force, "let --out replace a file that is no such HDF5");
  logits->add_option("--layers", options->layers, "of maps and states, from 0, such as 0,3 [all]")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_compute_options(logits, options->compute, {"f32", "tf32", "f64"});
  return {logits, [options, ablation] { return run_logits(*options, ablation); }};
}

}  // namespace sink
