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
  if (r.layer >= 0) json["layer"] = r.layer;
  if (r.head >= 0) json["head"] = r.head;
  if (r.token >= 0) json["token"] = r.token;
  json.update({{"loss_before", finite_or_word(r.before)},
               {"loss", finite_or_word(r.loss)},
               {"change", finite_or_word(r.change)},
               {"standard_error", finite_or_word(r.error)},
               {"last_change", finite_or_word(r.last_change)},
               {"divergence", finite_or_word(r.divergence)},
               {"greedy_changed", finite_or_word(r.greedy_changed)}});
  if (!r.tokens.empty()) json["destroyed"] = share_destroyed(r.tokens);
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

struct Measured {
  Batch sequences;
  std::string data_sha256 = {};  // of the tokens of the data folder; empty for other input
};

std::string json_of(const CheckpointInterventions& all, const InterventionRequest& request, const Ablation& ablation,
                    const Checkpoint& checkpoint, const Sizes& sizes, const Measured& input) {
  nlohmann::ordered_json json{{"ablation", ablation.name},
                              {"policies", ablation.policies},
                              {"checkpoint", request.checkpoint},
                              {"data_sha256", attribute_or(checkpoint, "data_sha256", "")},
                              {"precision", request.precision},
                              {"seed", trained_on(checkpoint, sizes).seed},
                              {"step", integer_or(checkpoint, "step", 0)},
                              {"commit", build_commit()},
                              {"input", request.given.any() ? request.given.name() : "text"},
                              {"sequences", all.measured.sequences},
                              {"context", all.measured.context},
                              {"loss", finite_or_word(all.measured.loss)},
                              {"interventions", nlohmann::ordered_json::array()}};
  if (!input.data_sha256.empty()) json["measured_data_sha256"] = input.data_sha256;
  for (const InterventionResult& result : all.measured.results) json["interventions"].push_back(json_of(result));
  if (all.kurtosis) json["kurtosis"] = json_of(*all.kurtosis);
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Measured input_of(const InterventionRequest& request, const Checkpoint& checkpoint, const Sizes& sizes) {
  if (request.given.context > 0) require_context(request.given.context, sizes);
  if (request.given.any()) {
    const Batch given = given_tokens(request.given.sequences(checkpoint, sizes), sizes.vocabulary, sizes.prefix);
    return {given.rows(0, std::min(request.sequences, given.sequences()))};
  }
  TrainedOn run = trained_on(checkpoint, sizes);
  if (request.given.context > 0) run.context = request.given.context;
  run.eval_sequences = request.sequences;
  auto data = validation_text(checkpoint, run, request.given.data, sizes);
  return {data->validation_batch(0, std::min(request.sequences, data->validation_sequences())), data->checksum()};
}

// (1, T'): the other text of `patch`, tokenised as the text is.
Tensor source_tokens(const InputOptions& given, const std::string& text, const Checkpoint& checkpoint,
                     const Sizes& sizes) {
  InputOptions source = given;
  source.tokens = source.text_file = std::nullopt;
  source.text = text;
  const std::vector<std::int32_t> ids = source.one_sequence(checkpoint, sizes, sizes.context);
  return Tensor::from({1, static_cast<std::int64_t>(ids.size())}, ids);
}

std::vector<std::string> texts_of(const Batch& sequences, const Checkpoint& checkpoint) {
  const auto text_of = token_labels(checkpoint, nullptr);
  const std::int32_t* ids = sequences.tokens_BT().data<std::int32_t>();
  std::vector<std::string> texts;
  for (std::int64_t n = 0; n < sequences.tokens_BT().size(); ++n) texts.push_back(text_of(ids[n]));
  return texts;
}

// Sequences at a time. Two such batches of logits are in memory, in addition to the logits before.
std::int64_t batch_of(const InterventionRequest& request, std::int64_t T, const Sizes& sizes) {
  constexpr std::int64_t kMaxLogits = std::int64_t{1} << 26;
  if (request.batch > 0) return request.batch;
  return std::max<std::int64_t>(
      1, std::min(ComputeOptions().batch_of(T, sizes.width), kMaxLogits / (T * sizes.vocabulary)));
}

}  // namespace

Batch sequences_of(const InterventionRequest& request, const Checkpoint& checkpoint, const Sizes& sizes) {
  return input_of(request, checkpoint, sizes).sequences;
}

CheckpointInterventions intervene_on_checkpoint(const InterventionRequest& asked, const Ablation& ablation) {
  InterventionRequest request = asked;
  const EvaluatedModel evaluated =
      load_evaluated(request.checkpoint, ablation, stored_type(request.precision), Device::cpu);
  LanguageModel& model = *evaluated.model;
  const Sizes& sizes = model.sizes();
  const Measured input = input_of(request, evaluated.checkpoint, sizes);
  const Batch& sequences = input.sequences;
  const std::int64_t batch = batch_of(request, sequences.context(), sizes);
  for (Intervention& intervention : request.interventions)
    if (intervention.what == Intervention::What::patch && !intervention.source_BT.defined())
      intervention.source_BT = source_tokens(request.given, intervention.source, evaluated.checkpoint, sizes);
  for (const Intervention& intervention : request.interventions)
    require_places(intervention, sizes, sequences.context());
  if (request.before_computation) request.before_computation(model);
  CheckpointInterventions all{.measured =
                                  intervene(model, sequences, request.interventions, batch, request.each_token)};
  if (sequences.sequences() == 1 || request.each_token) all.tokens = texts_of(sequences, evaluated.checkpoint);
  if (request.with_kurtosis) all.kurtosis = activation_kurtosis(model, sequences, batch);
  all.json = json_of(all, request, ablation, evaluated.checkpoint, sizes, input);
  return all;
}

}  // namespace sink
