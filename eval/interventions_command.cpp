// eval_<ablation> interventions: what the loss becomes without the first token's share, and with rounded numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/io/build_info.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/precision.h"
#include "eval/compute_options.h"
#include "eval/eval_command.h"
#include "eval/given_input.h"
#include "eval/interventions.h"
#include "eval/trained_on.h"
#include "eval/validation_text.h"
#include "model/model_checkpoint.h"

namespace sink {
namespace {

const OutputKind kInterventionsFile =
    kind_by_text("interventions of eval_<ablation>", "{", {"\"interventions\"", "\"policies\""});

struct InterventionOptions {
  std::string checkpoint, data, out;
  ComputeOptions compute;
  std::vector<std::int64_t> tokens{1, 5};
  std::int64_t sequences = 100, context = 0;
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

nlohmann::ordered_json finite_or_word(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";  // as in metrics.jsonl
}

std::string json_of(const Interventions& all, const InterventionOptions& options, const Ablation& ablation,
                    const Checkpoint& checkpoint) {
  nlohmann::ordered_json json{{"ablation", ablation.name},
                              {"policies", ablation.policies},
                              {"checkpoint", options.checkpoint},
                              {"data_sha256", attribute_or(checkpoint, "data_sha256", "")},
                              {"precision", options.compute.precision},
                              {"commit", build_commit()},
                              {"sequences", all.sequences},
                              {"context", all.context},
                              {"loss", finite_or_word(all.loss)},
                              {"interventions", nlohmann::ordered_json::array()}};
  for (const InterventionResult& r : all.results)
    json["interventions"].push_back({{"name", r.name},
                                     {"meaning", r.meaning},
                                     {"loss", finite_or_word(r.loss)},
                                     {"change", finite_or_word(r.change)},
                                     {"standard_error", finite_or_word(r.error)}});
  return json.dump(1) + "\n";
}

int run_interventions(const InterventionOptions& options, const Ablation& ablation) {
  options.compute.apply();
  Checkpoint checkpoint = load_checkpoint(options.checkpoint);
  auto model =
      load_model(checkpoint, ablation, stored_type(options.compute.precision), "eval_" + ablation.name, Device::cpu);
  TrainedOn run = trained_on(checkpoint, model->sizes());
  if (options.context > 0) run.context = options.context;
  require_context(run.context, model->sizes());
  run.eval_sequences = options.sequences;
  auto data = validation_text(options.checkpoint, checkpoint, run, options.data, model->sizes());
  Batch sequences = data->validation_batch(0, std::min(options.sequences, data->validation_sequences()));
  if (!options.out.empty()) require_output(options.out, kInterventionsFile, options.force);
  Interventions all = intervene(*model, sequences, options.tokens);
  std::fputs(table_of(all).c_str(), stderr);
  std::string json = json_of(all, options, ablation, checkpoint);
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
  line->add_option("checkpoint", options->checkpoint, "checkpoint.h5 of a run")->required();
  line->add_option("--token", options->tokens, "positions, from 1, whose share is taken; others are for comparison")
      ->delimiter(',')
      ->capture_default_str();
  line->add_option("--sequences", options->sequences, "validation sequences")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  line->add_option("--context", options->context, "tokens per sequence [the training context]")
      ->check(CLI::PositiveNumber);
  line->add_option("--data", options->data, "another data folder than the run's");
  add_compute_options(line, options->compute, {"f32", "f64"});
  line->add_option("--out", options->out, "write the JSON to this file");
  line->add_flag("--force", options->force, "let --out replace a file that is no such JSON");
  return {line, [options, ablation] { return run_interventions(*options, ablation); }};
}

}  // namespace sink
