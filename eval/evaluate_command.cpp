#include "eval/evaluate_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "engine/file.h"
#include "engine/reference_switch.h"
#include "eval/evaluation_json.h"
#include "model/build_info.h"
#include "model/model_checkpoint.h"
#include "train/measure.h"
#include "train/program.h"
#include "train/run_config.h"

namespace sink {
namespace {

struct SinkOptions {
  std::string checkpoint, data, out, precision = "f32";
  std::int64_t sequences = 100, context = 0, batch = 50;
  bool reference = false;
};

void print_table(const Evaluation& e) {
  std::fprintf(stderr, "%lld sequences of %lld tokens, loss %.4f nats\n", static_cast<long long>(e.sequences),
               static_cast<long long>(e.context), e.loss);
  std::fprintf(stderr, "                      proxy      raw\n");
  for (std::size_t i = 0; i < kSinkEpsilons.size(); ++i)
    std::fprintf(stderr, "  Sink_1 (eps %.1f)  %7.2f%% %7.2f%%\n", kSinkEpsilons[i], e.proxy.sink_k[i].front(),
                 e.raw.sink_k[i].front());
  for (std::size_t k = 0; k < e.proxy.alpha_k.size(); ++k)
    std::fprintf(stderr, "  alpha_%-12zu %8.4f %8.4f\n", k + 1, e.proxy.alpha_k[k], e.raw.alpha_k[k]);
  std::fprintf(stderr, "  row mass %.4f, entropy %.3f nats, |v_1| / mean |v_t| %.3f\n", e.row_mass, e.entropy,
               e.first_value_norm_ratio);
}

int run_sink(const SinkOptions& options, const Ablation& ablation) {
  use_reference() = options.reference;
  Checkpoint checkpoint = load_checkpoint(options.checkpoint);
  RunConfig config = run_config_from_toml(checkpoint.attribute("config_toml"), options.checkpoint);
  if (!options.data.empty()) config.data = options.data;
  if (options.context > 0) config.context = options.context;
  config.eval_sequences = options.sequences;
  auto model = load_model(checkpoint, ablation, dtype_named(options.precision), "eval_" + ablation.name);
  auto data = make_data_source(config);
  Evaluation evaluation = measure(*model, *data, options.sequences, options.batch, true);
  print_table(evaluation);
  EvaluationContext context{
      .run = options.checkpoint,
      .task = config.task,
      .ablation = ablation.name,
      .policies = ablation.policies,
      .precision = options.precision,
      .commit = build_commit(),
      .config_toml = checkpoint.attribute("config_toml"),
      .seed = config.seed,
      .step = checkpoint.integer("step"),
      .steps = config.steps,
      .tokens = checkpoint.integer("tokens"),
      .parameters = model->parameter_count(),
      .token_text = [&](std::int32_t id) { return data->token_text(id); },
  };
  std::string json = evaluation_json(evaluation, context);
  if (options.out.empty())
    std::fputs(json.c_str(), stdout);
  else
    write_file_atomically(options.out, json);
  return 0;
}

}  // namespace

int eval_main(int argc, char** argv, const Ablation& ablation) {
  std::string program = "eval_" + ablation.name;
  return run_program(program.c_str(), [&] {
    CLI::App app("Measures checkpoints of the `" + ablation.name + "` ablation.\nPolicies: " + ablation.policies,
                 program);
    app.require_subcommand(1);
    app.set_version_flag("--version", program + "\npolicies: " + ablation.policies + "\ncommit: " + build_commit());
    SinkOptions options;
    CLI::App* sink = app.add_subcommand(
        "sink",
        "Sink_k and alpha_k (raw and proxy), row mass, norms by position and one map, on validation sequences of the "
        "data the run was trained on. A table goes to stderr, evaluation JSON to stdout or --out.");
    sink->add_option("checkpoint", options.checkpoint, "checkpoint.h5 of a run")->required();
    sink->add_option("--data", options.data, "another data folder than the run's");
    sink->add_option("--sequences", options.sequences, "validation sequences")->check(CLI::PositiveNumber);
    sink->add_option("--context", options.context, "tokens a sequence, at most what the model was trained with [all]")
        ->check(CLI::PositiveNumber);
    sink->add_option("--batch", options.batch, "sequences at a time")->check(CLI::PositiveNumber);
    sink->add_option("--precision", options.precision)->check(CLI::IsMember({"f32", "bf16", "f64"}));
    sink->add_flag("--reference", options.reference, "plain loops instead of the fast path");
    sink->add_option("--out", options.out, "write the JSON to this file");
    app.footer("Exit codes: 0 done, 2 usage, 3 bad input, 4 checkpoint damaged or of another policy, 8 disk.");
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
      throw Error(std::string(error.what()) + "; --help lists the flags", Exit::usage);
    }
    return run_sink(options, ablation);
  });
}

}  // namespace sink
