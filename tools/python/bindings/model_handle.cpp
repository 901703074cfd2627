#include "tools/python/bindings/model_handle.h"

#include <filesystem>

#include "engine/check.h"
#include "engine/io/build_info.h"
#include "engine/io/compute_options.h"
#include "engine/io/printable.h"
#include "engine/precision.h"
#include "eval/input_options.h"
#include "eval/model_path.h"
#include "model/all_ablations.h"
#include "model/model_checkpoint.h"
#include "tools/sinklab/ablation_of_model.h"
#include "train/initial_model.h"

namespace sink::python {
namespace {

constexpr std::int64_t kLongestText = std::int64_t{1} << 40;  // tokens; the model refuses more than its context

std::string precision_of(const std::string& dtype) {
  if (dtype == "float32") return "f32";
  if (dtype == "float64") return "f64";
  if (dtype == "bfloat16") return "bf16";
  throw Error("dtype must be float32, float64 or bfloat16, got " + printable(dtype), Exit::usage);
}

}  // namespace

ModelHandle ModelHandle::load(const std::string& given, const std::string& dtype, const std::string& device,
                              bool gradients) {
  const std::string precision = precision_of(dtype), path = model_path(given);
  check_device(device, precision, false);
  const Ablation& ablation = ablation_of_model(path);
  return {ablation,
          load_evaluated(path, ablation, stored_type(precision), device_named(device), {.in_place = !gradients})};
}

ModelHandle::ModelHandle(const Ablation& ablation, EvaluatedModel evaluated)
    : ablation_(ablation), evaluated_(std::move(evaluated)) {
  const TrainedOn run = trained_on(evaluated_.checkpoint, model().sizes());
  data_ = run.data;
  InputOptions input;
  input.min_tokens = 1;
  cut_ = input.cut(evaluated_.checkpoint, run, model().sizes());
  cut_.max_tokens = kLongestText;
  evaluated_.checkpoint.tensors.clear();
}

ModelHandle ModelHandle::make(const std::string& name, const std::string& settings_toml, std::int64_t vocabulary) {
  const Ablation& ablation = ablation_named(name);
  const RunConfig settings = settings_of(settings_toml, ablation);
  check_device(settings.device, settings.precision, settings.reference);
  ModelHandle handle(ablation, {{}, make_run_model(settings, ablation, vocabulary)});
  handle.settings_ = settings;
  return handle;
}

BatchTrainer& ModelHandle::trainer() {
  if (!settings_)
    throw Error("a model that was loaded is not trained here: sinklab.ablation makes one to train", Exit::usage);
  if (!trainer_) trainer_ = std::make_unique<BatchTrainer>(model(), *settings_);
  return *trainer_;
}

void ModelHandle::save(const std::string& path) const {
  if (!settings_)
    throw Error("a model that was loaded is not written again: `eval_" + ablation_.name + " import` makes a checkpoint",
                Exit::usage);
  if (std::filesystem::exists(path)) throw Error(path + " exists: give another name", Exit::usage);
  Checkpoint checkpoint;
  store_model(ablation_, model(), checkpoint);
  checkpoint.attributes.insert({{"step", std::to_string(trainer_ ? trainer_->steps() : 0)},
                                {"tokens", std::to_string(trainer_ ? trainer_->tokens() : 0)},
                                {"seed", std::to_string(settings_->seed)},
                                {"precision", settings_->precision},
                                {"commit", build_commit()},
                                {"config_toml", to_toml(*settings_)}});
  save_checkpoint(path, checkpoint);
}

bool ModelHandle::has_tokenizer() const {
  const auto& attributes = evaluated_.checkpoint.attributes;
  return attributes.contains("tokenizer_json") || (!data_.empty() && !attributes.contains("text_refusal"));
}

const Tokenizer& ModelHandle::tokenizer() {
  if (!has_tokenizer() && !evaluated_.checkpoint.attributes.contains("text_refusal"))
    throw Error("the model has no tokenizer: give token ids instead of a text", Exit::usage);
  if (!tokenizer_) tokenizer_.emplace(tokenizer_of(evaluated_.checkpoint, data_));
  return *tokenizer_;
}

std::vector<std::int32_t> ModelHandle::encode(const std::string& text) {
  const Tensor ids_1T = text_sequences(tokenizer(), text, cut_);
  return {ids_1T.data<std::int32_t>(), ids_1T.data<std::int32_t>() + ids_1T.size()};
}

std::string ModelHandle::decode(const std::vector<std::int32_t>& ids) { return tokenizer().decode(ids); }

std::string ModelHandle::token_text(std::int32_t id) {
  const bool known = has_tokenizer() && id >= 0 && id < tokenizer().vocabulary();
  return known ? tokenizer().token_text(id) : std::to_string(id);
}

}  // namespace sink::python
