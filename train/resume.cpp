#include "train/resume.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>

#include "engine/data/same_data.h"
#include "engine/io/build_info.h"
#include "engine/io/printable.h"
#include "model/model_checkpoint.h"
#include "model/size_settings.h"
#include "train/distributed/sharded_state.h"
#include "train/run_config_table.h"
#include "train/schedule.h"

namespace sink {
namespace {

constexpr const char* kInitial = "initial_sha256";
// Of the last step, for its line in metrics.jsonl: a checkpoint is saved before its step is evaluated.
constexpr const char *kLoss = "train_loss", *kGradientNorm = "grad_norm", *kLearningRate = "learning_rate";

// The shortest text that is read as the same number.
std::string exact_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::optional<StepResult> last_step_of(const Checkpoint& checkpoint) {
  if (!checkpoint.attributes.contains(kLoss)) return std::nullopt;  // of an older version, saved after the evaluation
  return StepResult{.step = checkpoint.integer("step"),
                    .loss = checkpoint.real(kLoss),
                    .gradient_norm = checkpoint.real(kGradientNorm),
                    .learning_rate = checkpoint.real(kLearningRate),
                    .skipped = checkpoint.integer("skipped_in_a_row") > 0};
}

// Settings that may change when a run is resumed: how long it trains, what it shows and saves, its threads and device,
// what it keeps for the backward pass, and how it is launched.
const std::set<std::string>& free_settings() {
  static const std::set<std::string> keys{"steps",     "eval-every",   "eval-sequences",   "checkpoint-every",
                                          "log-every", "nan-patience", "threads",          "device",
                                          "recompute", "graph",        "birth-checkpoints"};
  return keys;
}

// Files are what they hold, not where they lie: data is compared by its checksum, and one path has many spellings.
bool is_same(const Setting<RunConfig>& setting, const RunConfig& stored, const RunConfig& config) {
  if (setting.flag == "data") return true;
  if (setting.flag == "gradient-sum" && config.accumulate == 1) return true;  // a sum of one
  if (setting.flag == "initial" && !stored.initial.empty() && !config.initial.empty())
    return std::filesystem::weakly_canonical(stored.initial) == std::filesystem::weakly_canonical(config.initial);
  return setting.value(stored) == setting.value(config);
}

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& why) {
  throw Error(checkpoint.path + ": " + why + "; go back to another copy or start again", Exit::corrupt_checkpoint);
}

RunConfig config_of(const Checkpoint& checkpoint) {
  try {
    return run_config_from_toml(checkpoint.attribute("config_toml"), checkpoint.path + " (config_toml)");
  } catch (const Error& error) { throw Error(error.what(), Exit::corrupt_checkpoint); }
}

void require_same_run(const Checkpoint& checkpoint, const RunConfig& stored, const RunConfig& config,
                      const DataSource& data) {
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

// A run trains longer with more --steps, if that changes nothing of the steps that are done.
void require_steps(const Checkpoint& checkpoint, const RunConfig& stored, const RunConfig& config, std::int64_t done) {
  SINK_CHECK(config.steps >= done, "resume",
             checkpoint.path + " has done step " + std::to_string(done) + ", and --steps is " +
                 std::to_string(config.steps) + ": give at least as many, or begin another run",
             Exit::usage);
  SINK_CHECK(done == 0 || learning_rate_at(stored, done) == learning_rate_at(config, done), "resume",
             checkpoint.path + " was made with --steps " + std::to_string(stored.steps) + ", where its " +
                 config.schedule + " schedule ends: with --steps " + std::to_string(config.steps) +
                 " the steps before would have had other learning rates. Give the same steps, or begin another run "
                 "(from these parameters: --initial " +
                 checkpoint.path + ")",
             Exit::usage);
}

// Checksums detect corruption, not attacks, so the attributes are compared with those of a run with these settings.
void require_attribute(const Checkpoint& checkpoint, const std::string& name, const std::string& expected,
                       const std::string& why) {
  const std::string& text = checkpoint.attribute(name);
  if (text != expected)
    refuse(checkpoint, "`" + name + "` is " + in_quotes(text) + ", expected " + expected + ", as " + why);
}

void require_sizes(const Checkpoint& checkpoint, const Sizes& of_run) {
  const Sizes stored = resolve_defaults(sizes_of(checkpoint)), expected = resolve_defaults(of_run);
  for (const Setting<Sizes>& size : size_settings())
    if (const std::string has = plain_text(size.value(stored)), wants = plain_text(size.value(expected)); has != wants)
      refuse(checkpoint, "`" + size.key() + "` is " + has + ", but its own settings (config_toml) say " + wants);
}

std::int64_t count_in(const Checkpoint& checkpoint, const std::string& name, std::int64_t most,
                      const std::string& why) {
  const std::int64_t count = checkpoint.integer(name);
  if (count < 0 || count > most)
    refuse(checkpoint, "`" + name + "` is " + std::to_string(count) + ", expected a whole number from 0 to " +
                           std::to_string(most) + ", " + why);
  return count;
}

RunState state_in(const Checkpoint& checkpoint, const RunConfig& stored) {
  RunState state;
  state.step = count_in(checkpoint, "step", stored.steps, "the steps of its settings (config_toml)");
  state.updates = count_in(checkpoint, "updates", state.step, "its steps");
  state.skipped_in_a_row =
      count_in(checkpoint, "skipped_in_a_row", state.step - state.updates, "its steps without an update");
  require_attribute(checkpoint, "tokens", std::to_string(state.step * stored.tokens_per_step()), "its steps have read");
  require_attribute(checkpoint, "seed", std::to_string(stored.seed), "its settings (config_toml) say");
  require_attribute(checkpoint, "precision", stored.precision, "its settings (config_toml) say");
  if (checkpoint.attributes.contains(kInitial)) {
    state.initial_sha256 = checkpoint.attribute(kInitial);
    if (state.initial_sha256.size() != 64 ||
        state.initial_sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
      refuse(checkpoint, std::string("`") + kInitial + "` is no SHA-256; expected 64 hexadecimal digits");
  }
  state.last = last_step_of(checkpoint);
  return state;
}

bool has_negative(const Tensor& tensor) {
  return with_real(tensor.dtype(), [&](auto zero) {
    using R = decltype(zero);
    const R* values = tensor.data<R>();
    return std::any_of(values, values + tensor.size(), [](R x) { return x < 0; });
  });
}

void restore_optimizer(const Checkpoint& checkpoint, std::vector<OptimizerState>& states) {
  std::set<std::string> known;
  for (OptimizerState& state : states) {
    const std::string path = kOptimizerFolder + state.name;
    restore_tensor(checkpoint, path, state.values);
    known.insert(path);
    if (path.find("second_moment/") != std::string::npos && has_negative(checkpoint.tensor(path)))
      refuse(checkpoint, path + " has a value below 0, which no mean of squares has");
  }
  for (const auto& [path, tensor] : checkpoint.tensors)
    if (path.starts_with(kOptimizerFolder) && !known.contains(path))
      refuse(checkpoint, "it holds " + path + ", which the optimiser of its settings does not keep");
}

}  // namespace

Checkpoint parameters_of(TrainingRun& run) {
  const RunConfig& config = run.config();
  const RunState& state = run.state();
  Checkpoint checkpoint;
  store_model(run.ablation(), run.model(), checkpoint);
  checkpoint.attributes["step"] = std::to_string(state.step);
  checkpoint.attributes["updates"] = std::to_string(state.updates);
  checkpoint.attributes["skipped_in_a_row"] = std::to_string(state.skipped_in_a_row);
  checkpoint.attributes["tokens"] = std::to_string(state.step * config.tokens_per_step());
  checkpoint.attributes["seed"] = std::to_string(config.seed);
  checkpoint.attributes["precision"] = config.precision;
  checkpoint.attributes["commit"] = build_commit();
  checkpoint.attributes["config_toml"] = to_toml(config);
  if (state.last) {
    checkpoint.attributes[kLoss] = exact_text(state.last->loss);
    checkpoint.attributes[kGradientNorm] = exact_text(state.last->gradient_norm);
    checkpoint.attributes[kLearningRate] = exact_text(state.last->learning_rate);
  }
  if (!state.initial_sha256.empty()) checkpoint.attributes[kInitial] = state.initial_sha256;
  store_data(run.data(), checkpoint);
  return checkpoint;
}

void save_run(const std::string& path, TrainingRun& run) {
  const std::vector<OptimizerState> states = gather_optimizer_state(run);
  if (!run.ranks().is_writer()) return;
  Checkpoint checkpoint = parameters_of(run);
  for (const OptimizerState& state : states)
    checkpoint.tensors.emplace_back(kOptimizerFolder + state.name, state.values);
  run.ranks().wait();  // throws if a collective was aborted while the host copied its values
  save_checkpoint(path, checkpoint);
}

std::vector<OptimizerState> resume(const std::string& path, TrainingRun& run) {
  Checkpoint checkpoint = load_checkpoint(path);
  require_policy(checkpoint, run.ablation().name, run.ablation().policies, "train_" + run.ablation().name);
  if (std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                   [](const auto& tensor) { return tensor.first.starts_with(kOptimizerFolder); }))
    throw Error(path + " holds parameters only, no run to resume; start a run from them with --initial " + path,
                Exit::usage);
  const RunConfig stored = config_of(checkpoint);
  require_same_run(checkpoint, stored, run.config(), run.data());
  require_sizes(checkpoint, run.model().sizes());
  const RunState state = state_in(checkpoint, stored);
  require_steps(checkpoint, stored, run.config(), state.step);
  restore_parameters(checkpoint, run.model());
  std::vector<OptimizerState> states = state_to_restore(run);
  restore_optimizer(checkpoint, states);
  run.set_state(state);
  return states;
}

}  // namespace sink
