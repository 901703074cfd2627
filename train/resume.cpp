#include "train/resume.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/data/same_data.h"
#include "engine/io/build_info.h"
#include "model/model_checkpoint.h"
#include "train/run_config_table.h"
#include "train/shared_state.h"

namespace sink {
namespace {

constexpr const char* kInitial = "initial_sha256";

// Settings a run may change when it goes on: how long, what is shown and saved, on how many threads, where, what is
// kept for the backward pass, and how it is launched.
const std::set<std::string>& free_settings() {
  static const std::set<std::string> keys{"steps",     "eval-every",   "eval-sequences",    "checkpoint-every",
                                          "log-every", "nan-patience", "threads",           "device",
                                          "recompute", "graph",        "birth-checkpoints", "gradient-sum"};
  return keys;
}

// Files are what they hold, not where they lie: data is compared by its checksum, and one path has many spellings.
bool is_same(const Setting<RunConfig>& setting, const RunConfig& stored, const RunConfig& config) {
  if (setting.flag == "data") return true;
  if (setting.flag == "initial" && !stored.initial.empty() && !config.initial.empty())
    return std::filesystem::weakly_canonical(stored.initial) == std::filesystem::weakly_canonical(config.initial);
  return setting.value(stored) == setting.value(config);
}

void require_same_run(const Checkpoint& checkpoint, const RunConfig& config, const DataSource& data) {
  RunConfig stored = run_config_from_toml(checkpoint.attribute("config_toml"), checkpoint.path);
  for (const Setting<RunConfig>& setting : run_config_table()) {
    if (!is_saved(setting) || free_settings().contains(setting.flag) || is_same(setting, stored, config)) continue;
    fail("resume",
         checkpoint.path + " was made with " + setting.flag + " = " + toml_text(setting.value(stored)) +
             ", this run has " + setting.flag + " = " + toml_text(setting.value(config)) +
             ": give the same settings, or begin another run (from these parameters: --initial " + checkpoint.path +
             ")",
         Exit::usage);
  }
  require_same_data(checkpoint, data, config.data,
                    "give the folder that holds it as --data, or begin another run (from these parameters: --initial " +
                        checkpoint.path + ")");
}

}  // namespace

Checkpoint parameters_of(TrainingRun& run, const Tensor& masters) {
  const RunConfig& config = run.config();
  const RunState& state = run.state();
  Checkpoint checkpoint;
  store_model(run.ablation(), run.model(), checkpoint, masters);
  checkpoint.attributes["step"] = std::to_string(state.step);
  checkpoint.attributes["updates"] = std::to_string(state.updates);
  checkpoint.attributes["skipped_in_a_row"] = std::to_string(state.skipped_in_a_row);
  checkpoint.attributes["tokens"] = std::to_string(state.step * config.tokens_per_step());
  checkpoint.attributes["seed"] = std::to_string(config.seed);
  checkpoint.attributes["precision"] = config.precision;
  checkpoint.attributes["commit"] = build_commit();
  checkpoint.attributes["config_toml"] = to_toml(config);
  if (!state.initial_sha256.empty()) checkpoint.attributes[kInitial] = state.initial_sha256;
  store_data(run.data(), checkpoint);
  return checkpoint;
}

void save_run(const std::string& path, TrainingRun& run) {
  const std::vector<OptimizerState> states = whole_state(run);
  const Tensor masters = whole_masters(run);
  if (!run.ranks().is_writer()) return;
  Checkpoint checkpoint = parameters_of(run, masters);
  for (const OptimizerState& state : states)
    checkpoint.tensors.emplace_back(kOptimizerFolder + state.name, state.values);
  save_checkpoint(path, checkpoint);
}

std::vector<OptimizerState> resume(const std::string& path, TrainingRun& run) {
  Checkpoint checkpoint = load_checkpoint(path);
  require_policy(checkpoint, run.ablation().name, run.ablation().policies, "train_" + run.ablation().name);
  if (std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                   [](const auto& tensor) { return tensor.first.starts_with(kOptimizerFolder); }))
    throw Error(path + " holds parameters only, no run to go on with; begin one from them with --initial " + path,
                Exit::usage);
  require_same_run(checkpoint, run.config(), run.data());
  restore_parameters(checkpoint, run.model());
  std::vector<OptimizerState> states = room_for_state(run);
  for (OptimizerState& state : states) restore_tensor(checkpoint, kOptimizerFolder + state.name, state.values);
  run.set_state({.step = checkpoint.integer("step"),
                 .updates = checkpoint.integer("updates"),
                 .skipped_in_a_row = checkpoint.integer("skipped_in_a_row"),
                 .initial_sha256 = checkpoint.attributes[kInitial]});
  return states;
}

}  // namespace sink
