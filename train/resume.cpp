#include "train/resume.h"

#include <algorithm>
#include <set>

#include "model/build_info.h"
#include "train/run_config_fields.h"

namespace sink {
namespace {

// Settings a run may change when it goes on: how long, what is shown and saved, and on how many threads.
const std::set<std::string>& free_settings() {
  static const std::set<std::string> keys{"steps",     "eval-every",   "eval-sequences", "checkpoint-every",
                                          "log-every", "nan-patience", "threads"};
  return keys;
}

void require_same_run(const Checkpoint& checkpoint, const RunConfig& config) {
  RunConfig stored = run_config_from_toml(checkpoint.attribute("config_toml"), checkpoint.path);
  for (const RunConfigField& field : run_config_fields()) {
    if (!field.saved() || free_settings().contains(field.flag) || field.value(stored) == field.value(config)) continue;
    fail("resume",
         checkpoint.path + " was made with " + field.flag + " = " + field.value(stored) + ", this run has " +
             field.flag + " = " + field.value(config) + ": give the same settings, or begin another run",
         Exit::usage);
  }
}

}  // namespace

void save_run(const std::string& path, const RunConfig& config, const Ablation& ablation, const LanguageModel& model,
              Optimizer& optimizer, const DataSource& data, const RunState& state) {
  Checkpoint checkpoint;
  store_model(ablation, model, checkpoint);
  checkpoint.attributes["step"] = std::to_string(state.step);
  checkpoint.attributes["updates"] = std::to_string(state.updates);
  checkpoint.attributes["skipped_in_a_row"] = std::to_string(state.skipped_in_a_row);
  checkpoint.attributes["tokens"] = std::to_string(state.step * config.tokens_per_step());
  checkpoint.attributes["seed"] = std::to_string(config.seed);
  checkpoint.attributes["precision"] = config.precision;
  checkpoint.attributes["commit"] = build_commit();
  checkpoint.attributes["config_toml"] = to_toml(config);
  if (std::string tokenizer = data.tokenizer_json(); !tokenizer.empty())
    checkpoint.attributes["tokenizer_json"] = tokenizer;
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    const std::string& name = model.parameters()[i]->name();
    checkpoint.tensors.emplace_back(kFirstMoments + name, optimizer.first_moments()[i]);
    checkpoint.tensors.emplace_back(kSecondMoments + name, optimizer.second_moments()[i]);
  }
  save_checkpoint(path, checkpoint);
}

RunState resume(const std::string& path, const RunConfig& config, const Ablation& ablation, LanguageModel& model,
                Optimizer& optimizer) {
  Checkpoint checkpoint = load_checkpoint(path);
  require_policy(checkpoint, ablation.name, ablation.policies, "train_" + ablation.name);
  if (std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                   [](const auto& tensor) { return tensor.first.starts_with(kFirstMoments); }))
    throw Error(path + " holds parameters only, no run to go on with; begin one from them with --initial " + path,
                Exit::usage);
  require_same_run(checkpoint, config);
  restore_parameters(checkpoint, model);
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    const std::string& name = model.parameters()[i]->name();
    restore_tensor(checkpoint, kFirstMoments + name, optimizer.first_moments()[i]);
    restore_tensor(checkpoint, kSecondMoments + name, optimizer.second_moments()[i]);
  }
  return {.step = checkpoint.integer("step"),
          .updates = checkpoint.integer("updates"),
          .skipped_in_a_row = checkpoint.integer("skipped_in_a_row")};
}

}  // namespace sink
