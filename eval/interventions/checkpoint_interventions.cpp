#include "eval/interventions/checkpoint_interventions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/io/build_info.h"
#include "engine/io/compute_options.h"
#include "engine/precision.h"
#include "eval/evaluated_model.h"
#include "eval/input_tokens.h"
#include "eval/sink/trained_on.h"

namespace sink {
namespace {

nlohmann::ordered_json finite_or_word(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";  // as in metrics.jsonl
}

nlohmann::ordered_json finite_or_words(const std::vector<double>& values) {
  auto list = nlohmann::ordered_json::array();
  for (double value : values) list.push_back(finite_or_word(value));
  return list;
}

nlohmann::ordered_json json_of(const InterventionResult& r) {
  nlohmann::ordered_json json{{"name", r.name}, {"meaning", r.meaning}};
  if (r.layer >= 0) json.update({{"layer", r.layer}, {"head", r.head}});
  json.update({{"loss_before", finite_or_word(r.before)},
               {"loss", finite_or_word(r.loss)},
               {"change", finite_or_word(r.change)},
               {"standard_error", finite_or_word(r.error)},
               {"divergence", finite_or_word(r.divergence)},
               {"greedy_changed", finite_or_word(r.greedy_changed)}});
  return json;
}

nlohmann::ordered_json json_of(const ActivationKurtosis& kurtosis) {
  auto inputs = nlohmann::ordered_json::array();
  for (const std::vector<double>& layer : kurtosis.inputs) inputs.push_back(finite_or_words(layer));
  return {{"residual_first", finite_or_words(kurtosis.residual_first)},
          {"residual_others", finite_or_words(kurtosis.residual_others)},
          {"residual_largest_by_median", finite_or_words(kurtosis.residual_largest_by_median)},
          {"inputs", inputs}};
}

std::string json_of(const CheckpointInterventions& all, const InterventionRequest& request, const Ablation& ablation,
                    const Checkpoint& checkpoint) {
  nlohmann::ordered_json json{{"ablation", ablation.name},
                              {"policies", ablation.policies},
                              {"checkpoint", request.checkpoint},
                              {"data_sha256", attribute_or(checkpoint, "data_sha256", "")},
                              {"precision", request.precision},
                              {"step", integer_or(checkpoint, "step", 0)},
                              {"commit", build_commit()},
                              {"input", request.given.any() ? request.given.name() : "text"},
                              {"sequences", all.measured.sequences},
                              {"context", all.measured.context},
                              {"loss", finite_or_word(all.measured.loss)},
                              {"interventions", nlohmann::ordered_json::array()}};
  for (const InterventionResult& result : all.measured.results) json["interventions"].push_back(json_of(result));
  if (all.kurtosis) json["kurtosis"] = json_of(*all.kurtosis);
  return json.dump(1) + "\n";
}

Batch sequences_of(const InterventionRequest& request, const Checkpoint& checkpoint, const Sizes& sizes) {
  if (request.given.context > 0) require_context(request.given.context, sizes);
  if (request.given.any()) {
    const Batch given = given_tokens(request.given.sequences(checkpoint, sizes), sizes.vocabulary, sizes.prefix);
    return given.rows(0, std::min(request.sequences, given.sequences()));
  }
  TrainedOn run = trained_on(checkpoint, sizes);
  if (request.given.context > 0) run.context = request.given.context;
  run.eval_sequences = request.sequences;
  auto data = validation_text(checkpoint, run, request.given.data, sizes);
  return data->validation_batch(0, std::min(request.sequences, data->validation_sequences()));
}

// Sequences at a time. Two such batches of logits are in memory, in addition to the logits before.
std::int64_t batch_of(const InterventionRequest& request, std::int64_t T, const Sizes& sizes) {
  constexpr std::int64_t kMaxLogits = std::int64_t{1} << 26;
  if (request.batch > 0) return request.batch;
  return std::max<std::int64_t>(
      1, std::min(ComputeOptions().batch_of(T, sizes.width), kMaxLogits / (T * sizes.vocabulary)));
}

}  // namespace

CheckpointInterventions intervene_on_checkpoint(const InterventionRequest& request, const Ablation& ablation) {
  const EvaluatedModel evaluated =
      load_evaluated(request.checkpoint, ablation, stored_type(request.precision), Device::cpu);
  LanguageModel& model = *evaluated.model;
  const Sizes& sizes = model.sizes();
  const Batch sequences = sequences_of(request, evaluated.checkpoint, sizes);
  const std::int64_t batch = batch_of(request, sequences.context(), sizes);
  for (const Intervention& intervention : request.interventions)
    require_places(intervention, sizes, sequences.context());
  if (request.before_computation) request.before_computation(model);
  CheckpointInterventions all{intervene(model, sequences, request.interventions, batch), {}, {}};
  if (request.with_kurtosis) all.kurtosis = activation_kurtosis(model, sequences, batch);
  all.json = json_of(all, request, ablation, evaluated.checkpoint);
  return all;
}

}  // namespace sink
