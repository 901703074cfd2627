#include "eval/intervention_options.h"

#include <cstdio>

#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "eval/evaluated_model.h"

namespace sink {
namespace {

const OutputKind kInterventionsFile =
    kind_by_text("interventions of eval_<ablation>", "{", {"\"interventions\"", "\"policies\""});

}  // namespace

void add_intervention_options(CLI::App* line, InterventionOptions& options) {
  InterventionRequest& request = options.request;
  line->add_option("checkpoint,--model", request.checkpoint, kWhatIsEvaluated)->required();
  const std::vector<CLI::Option*> texts = add_text_options(line, request.given);
  CLI::Option* tokens = add_tokens_option(line, request.given, texts);
  line->add_option("--sequences", request.sequences, "how many at most")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  line->add_option("--context", request.given.context, "tokens per sequence [the training context; of --text all]")
      ->check(CLI::PositiveNumber)
      ->excludes(tokens);
  line->add_option("--data", request.given.data, "another data folder than the run's");
  add_compute_options(line, options.compute, {"f32", "f64"});
  line->add_option("--out", options.out, "write the JSON to this file");
  line->add_flag("--force", options.force, "let --out replace a file that is no such JSON");
}

int run_intervention_request(const InterventionOptions& options, const Ablation& ablation,
                             const std::function<std::string(const CheckpointInterventions&)>& table_of) {
  if (options.compute.device != "cpu")
    throw Error("interventions run on the CPU alone: leave out --device " + options.compute.device, Exit::usage);
  options.compute.apply();
  if (!options.out.empty()) require_output(options.out, kInterventionsFile, options.force);
  InterventionRequest request = options.request;
  request.precision = options.compute.precision;
  request.batch = options.compute.batch;
  const CheckpointInterventions all = intervene_on_checkpoint(request, ablation);
  std::fputs(table_of(all).c_str(), stderr);
  if (options.out.empty())
    std::fputs(all.json.c_str(), stdout);
  else
    write_file_atomically(options.out, all.json);
  return 0;
}

}  // namespace sink
