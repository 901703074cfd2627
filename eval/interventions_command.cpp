// eval_<ablation> interventions: what the loss becomes without the first token's share, and with rounded numbers.
#include <cstdio>
#include <memory>

#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "eval/checkpoint_interventions.h"
#include "eval/compute_options.h"
#include "eval/eval_command.h"

namespace sink {
namespace {

const OutputKind kInterventionsFile =
    kind_by_text("interventions of eval_<ablation>", "{", {"\"interventions\"", "\"policies\""});

struct InterventionOptions {
  InterventionRequest request;
  std::string out;
  ComputeOptions compute;
  bool force = false;
};

std::string table_of(const Interventions& all) {
  char line[256];
  std::snprintf(line, sizeof line, "%lld sequences of %lld tokens, loss %.4f nats\n%-16s %8s %10s %8s\n",
                static_cast<long long>(all.sequences), static_cast<long long>(all.context), all.loss, "", "loss",
                "change", "+-");
  std::string table = line;
  for (const InterventionResult& r : all.results) {
    std::snprintf(line, sizeof line, "%-16s %8.4f %+10.4f %8.4f  %s\n", r.name.c_str(), r.loss, r.change, r.error,
                  r.meaning.c_str());
    table += line;
  }
  return table;
}

int run_interventions(const InterventionOptions& options, const Ablation& ablation) {
  options.compute.apply();
  if (!options.out.empty()) require_output(options.out, kInterventionsFile, options.force);
  InterventionRequest request = options.request;
  request.precision = options.compute.precision;
  auto [measured, json] = intervene_on_checkpoint(request, ablation);
  std::fputs(table_of(measured).c_str(), stderr);
  if (options.out.empty())
    std::fputs(json.c_str(), stdout);
  else
    write_file_atomically(options.out, json);
  return 0;
}

}  // namespace

EvalCommand interventions_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<InterventionOptions>();
  CLI::App* line = app.add_subcommand(
      "interventions",
      "Takes something from a trained model and says what its loss becomes: what attention gets from the first token "
      "(taken out, made up for by other keys, or made the same for all queries), beside another token for comparison, "
      "and precision (weights and inputs rounded to 8 and 4 bits). Change and its standard error are over the same "
      "sequences. A table goes to stderr, JSON to stdout or --out.");
  line->add_option("checkpoint", options->request.checkpoint, "checkpoint.h5 of a run")->required();
  line->add_option("--token", options->request.tokens,
                   "positions, from 1, whose share is taken; others are for comparison")
      ->delimiter(',')
      ->capture_default_str();
  line->add_option("--sequences", options->request.sequences, "validation sequences")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  line->add_option("--context", options->request.context, "tokens per sequence [the training context]")
      ->check(CLI::PositiveNumber);
  line->add_option("--data", options->request.data, "another data folder than the run's");
  add_compute_options(line, options->compute, {"f32", "f64"});
  line->add_option("--out", options->out, "write the JSON to this file");
  line->add_flag("--force", options->force, "let --out replace a file that is no such JSON");
  return {line, [options, ablation] { return run_interventions(*options, ablation); }};
}

}  // namespace sink
