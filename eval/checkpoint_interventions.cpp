#include "eval/checkpoint_interventions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/io/build_info.h"
#include "engine/precision.h"
#include "eval/given_input.h"
#include "eval/trained_on.h"
#include "eval/validation_text.h"
#include "model/model_checkpoint.h"

namespace sink {
namespace {

nlohmann::ordered_json finite_or_word(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";  // as in metrics.jsonl
}

std::string json_of(const Interventions& all, const InterventionRequest& request, const Ablation& ablation,
                    const Checkpoint& checkpoint) {
  nlohmann::ordered_json json{{"ablation", ablation.name},
                              {"policies", ablation.policies},
                              {"checkpoint", request.checkpoint},
                              {"data_sha256", attribute_or(checkpoint, "data_sha256", "")},
                              {"precision", request.precision},
                              {"step", checkpoint.attributes.contains("step") ? checkpoint.integer("step") : 0},
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

}  // namespace

CheckpointInterventions intervene_on_checkpoint(const InterventionRequest& request, const Ablation& ablation) {
  Checkpoint checkpoint = load_checkpoint(request.checkpoint);
  auto model = load_model(checkpoint, ablation, stored_type(request.precision), "eval_" + ablation.name, Device::cpu);
  TrainedOn run = trained_on(checkpoint, model->sizes());
  if (request.context > 0) run.context = request.context;
  require_context(run.context, model->sizes());
  run.eval_sequences = request.sequences;
  auto data = validation_text(request.checkpoint, checkpoint, run, request.data, model->sizes());
  Batch sequences = data->validation_batch(0, std::min(request.sequences, data->validation_sequences()));
  Interventions measured = intervene(*model, sequences, request.tokens);
  return {measured, json_of(measured, request, ablation, checkpoint)};
}

}  // namespace sink
