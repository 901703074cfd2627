#include "train/resume.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/data/same_data.h"
#include "engine/io/build_info.h"
#include "train/run_config_fields.h"

namespace sink {
namespace {

// Settings a run may change when it goes on: how long, what is shown and saved, and on how many threads.
const std::set<std::string>& free_settings() {
  static const std::set<std::string> keys{"steps",     "eval-every",   "eval-sequences", "checkpoint-every",
                                          "log-every", "nan-patience", "threads"};
  return keys;
}

// Files are what they hold, not where they lie: data is compared by its checksum, and one path has many spellings.
bool is_same(const RunConfigField& field, const RunConfig& stored, const RunConfig& config) {
  if (field.flag == "data") return true;
  if (field.flag == "initial" && !stored.initial.empty() && !config.initial.empty())
    return std::filesystem::weakly_canonical(stored.initial) == std::filesystem::weakly_canonical(config.initial);
  return field.value(stored) == field.value(config);
}

void require_same_run(const Checkpoint& checkpoint, const RunConfig& config, const DataSource& data) {
  RunConfig stored = run_config_from_toml(checkpoint.attribute("config_toml"), checkpoint.path);
  for (const RunConfigField& field : run_config_fields()) {
    if (!field.saved() || free_settings().contains(field.flag) || is_same(field, stored, config)) continue;
    fail("resume",
         checkpoint.path + " was made with " + field.flag + " = " + field.value(stored) + ", this run has " +
             field.flag + " = " + field.value(config) + ": give the same settings, or begin another run",
         Exit::usage);
  }
  require_same_data(checkpoint, data, config.data,
                    "give the folder that holds it as --data, or begin another run (from these parameters: --initial " +
                        checkpoint.path + ")");
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
  store_data(data, checkpoint);
  for (const auto& parameter : model.parameters()) {
    const std::string& name = parameter->name();
    checkpoint.tensors.emplace_back(kFirstMoments + name, ParameterArena::slice(optimizer.first_moment(), *parameter));
    checkpoint.tensors.emplace_back(kSecondMoments + name,
                                    ParameterArena::slice(optimizer.second_moment(), *parameter));
  }
  save_checkpoint(path, checkpoint);
}

RunState resume(const std::string& path, const RunConfig& config, const Ablation& ablation, const DataSource& data,
                LanguageModel& model, Optimizer& optimizer) {
  Checkpoint checkpoint = load_checkpoint(path);
  require_policy(checkpoint, ablation.name, ablation.policies, "train_" + ablation.name);
  if (std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                   [](const auto& tensor) { return tensor.first.starts_with(kFirstMoments); }))
    throw Error(path + " holds parameters only, no run to go on with; begin one from them with --initial " + path,
                Exit::usage);
  require_same_run(checkpoint, config, data);
  restore_parameters(checkpoint, model);
  for (const auto& parameter : model.parameters()) {
    const std::string& name = parameter->name();
    Tensor first = ParameterArena::slice(optimizer.first_moment(), *parameter);
    Tensor second = ParameterArena::slice(optimizer.second_moment(), *parameter);
    restore_tensor(checkpoint, kFirstMoments + name, first);
    restore_tensor(checkpoint, kSecondMoments + name, second);
  }
  return {.step = checkpoint.integer("step"),
          .updates = checkpoint.integer("updates"),
          .skipped_in_a_row = checkpoint.integer("skipped_in_a_row")};
}

}  // namespace sink
