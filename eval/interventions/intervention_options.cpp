#include "eval/interventions/intervention_options.h"

#include "engine/io/number_check.h"
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
  line->add_option("--sequences", request.sequences, "how many at most")->check(whole_number(1))->capture_default_str();
  line->add_option("--context", request.given.context, "tokens per sequence [the training context; of --text all]")
      ->check(whole_number(1))
      ->excludes(tokens);
  line->add_option("--data", request.given.data, "another data folder than the run's");
  add_compute_options(line, options.compute, {"f32", "f64"});
  add_json_output_options(line, options.output, "the JSON", "JSON");
}

int run_intervention_request(const InterventionOptions& options, const Ablation& ablation,
                             const std::function<std::string(const CheckpointInterventions&)>& table_of) {
  if (options.compute.device != "cpu")
    throw Error("interventions run on the CPU alone: leave out --device " + options.compute.device, Exit::usage);
  options.compute.apply();
  options.output.require_free(kInterventionsFile);
  InterventionRequest request = options.request;
  request.precision = options.compute.precision;
  request.batch = options.compute.batch;
  const CheckpointInterventions all = intervene_on_checkpoint(request, ablation);
  options.output.write(table_of(all), all.json);
  return 0;
}

}  // namespace sink
