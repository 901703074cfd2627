#include "tools/python/bindings/batch_trainer.h"

#include <cmath>
#include <set>

#include "autograd/tape.h"
#include "engine/check.h"
#include "engine/io/settings_toml.h"
#include "engine/ops/optimizer/update.h"
#include "tools/python/bindings/computation.h"
#include "train/run_config_table.h"
#include "train/schedule.h"

namespace sink::python {
namespace {

// Ctrl-C ends a step after the current block of the forward pass.
struct SignalHooks final : ForwardHooks {
  void residual_post(std::int64_t, Residual&) override { check_signals(); }
};

// The settings in the text by their flags. Refuses those of a run: its data, its loop, what it measures and writes.
std::set<std::string> flags_of(const std::string& toml) {
  static const std::set<std::string> of_a_run{"ablation", "policies",  "initial",      "threads",
                                              "graph",    "reference", "nan-patience", "gradient-sum"};
  std::set<std::string> flags;
  for (const auto& [name, value] : read_settings_toml(toml, "settings", Exit::usage)) {
    const Setting<RunConfig>* setting = setting_named(run_config_table(), name);
    const std::string flag = setting ? setting->flag : name;
    const bool in_group =
        setting && (setting->group == "Data" || !is_saved(*setting) || setting->group == "Measuring and saving");
    if (of_a_run.contains(flag) || (in_group && flag != "seed"))
      throw Error(name + " is a setting of a run, which sinklab.ablation does not make" +
                      (flag == "threads"     ? ": sinklab.set_threads sets it"
                       : flag == "reference" ? ": precision=\"f64\" runs the reference"
                                             : ""),
                  Exit::usage);
    flags.insert(flag);
  }
  return flags;
}

}  // namespace

RunConfig settings_of(const std::string& toml, const Ablation& ablation) {
  const std::set<std::string> flags = flags_of(toml);
  RunConfig config = run_config_from_toml(toml, "settings");
  require_read([&](const std::string& flag) { return flags.contains(flag); }, config, ablation.policies);
  if (config.precision == "tf32")  // a state of the process, which other models have, too
    throw Error("precision tf32 is for train_<ablation>; sinklab.ablation takes f32, bf16 or f64", Exit::usage);
  config.task = "bigram-backcopy";  // no data is read
  config.dry_run = true;            // nor a folder written
  require_consistent(config, ablation);
  config.task = "text";  // The batches are the caller's: a checkpoint must not name the synthetic task as its data.
  return config;
}

BatchTrainer::BatchTrainer(LanguageModel& model, const RunConfig& config)
    : model_(model), config_(config), optimizer_(make_optimizer(model.parameters(), config)) {}

BatchTrainer::Step BatchTrainer::step(const Batch& batch) {
  const double learning_rate = learning_rate_at(config_, steps_ + 1);
  const Tensor scalars = make_step_scalars(learning_rate, updates_ + 1).to(model_.parameters().device());
  Tensor loss_sum = loss_of(scalars), squared_norm = squared_norm_of(scalars);
  try {
    SignalHooks hooks;
    Tape tape;
    const Var loss = model_.loss(batch, 1, {.hooks = &hooks, .gradient_checkpointing = config_.recompute});
    tape.backward(loss);
    loss_sum.copy_from(loss.value());
    optimizer_->sum_squared_gradients(squared_norm);
  } catch (...) {
    optimizer_->zero_grad();
    throw;
  }
  optimizer_->step(scalars);
  const Tensor host = scalars.to(Device::cpu);
  const StepScalars& values = host_step_scalars(host);
  ++steps_;
  tokens_ += batch.tokens_BT().size();
  if (std::isfinite(values.loss) && std::isfinite(values.squared_norm)) ++updates_;
  return {values.loss, std::sqrt(values.squared_norm), learning_rate};
}

}  // namespace sink::python
