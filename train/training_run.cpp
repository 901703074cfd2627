#include "train/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "autograd/tape.h"
#include "train/initial_model.h"
#include "train/replay_check.h"
#include "train/schedule.h"

namespace sink {

TrainingRun::TrainingRun(const RunConfig& config, const Ablation& ablation, Communicator& ranks)
    : TrainingRun(config, ablation, make_data_source(config, config.context, config.prefix), ranks) {}

TrainingRun::TrainingRun(const RunConfig& config, const Ablation& ablation, std::unique_ptr<DataSource> data,
                         Communicator& ranks)
    : evaluation_batch(config.batch),
      ranks_(ranks),
      config_(config),
      ablation_(ablation),
      data_(std::move(data)),
      model_(make_run_model(config, ablation, data_->vocabulary())),
      strategy_(make_distributed_strategy(model_->parameters(), config, ranks)),
      optimizer_(make_optimizer(model_->parameters(), config, strategy_->shards())),
      stop_checks_(*strategy_, model_->parameters().device(), ranks.is_single_process()),
      recording_(model_->parameters().device(), config.graph == "on" && ranks.is_single_process()) {}

TrainingRun::Ending TrainingRun::train(const std::vector<TrainingObserver*>& observers) {
  stop_signal_ = 0;
  std::int64_t saved_step = 0;  // there is nothing to save before the first step
  const auto save = [&] {
    if (saved_step == state_.step) return;
    for (TrainingObserver* observer : observers) observer->on_checkpoint(*this);
    saved_step = state_.step;
  };
  try {
    // Of a resumed run: its last step may not be reported yet, or may be the one at which it diverged.
    if (!strategy_->broadcast(state_.reported)) report(observers);
    if (state_.skipped_in_a_row >= config_.nan_patience) return Ending::diverged;
    while (state_.step < config_.steps) {
      if (config_.replay_check > 0 && state_.step % config_.replay_check == 0) require_same_replay(*this);
      step();
      state_.reported = false;
      const bool last = state_.step == config_.steps, diverged = state_.skipped_in_a_row >= config_.nan_patience;
      const bool evaluates = evaluation_is_due();
      // A step without an evaluation is reported at once. One with an evaluation is saved first, so that a run that
      // stops during the evaluation resumes with it.
      if (!evaluates) report(observers);
      const int signal = stop_checks_.stop_signal();
      if (stop_checks_.take_save_request() || last || diverged || state_.step % config_.checkpoint_every == 0) save();
      if (signal != 0) throw Stopped{signal};
      if (evaluates) report(observers);
      if (diverged) return Ending::diverged;
    }
  } catch (const Stopped& stopped) {
    stop_signal_ = stopped.signal;
    optimizer_->zero_grad();  // the gradients of an interrupted step
    save();
    return Ending::stopped;
  }
  return Ending::complete;
}

bool TrainingRun::evaluation_is_due() const {
  if (state_.step == config_.steps || config_.eval_every == 0) return state_.step == config_.steps;
  return state_.step == 1 || state_.step % config_.eval_every == 0;
}

void TrainingRun::report(const std::vector<TrainingObserver*>& observers) {
  std::optional<Evaluation> evaluation;
  if (evaluation_is_due()) evaluation = evaluate();
  const StepResult result = state_.last.value_or(StepResult{.step = state_.step});
  for (TrainingObserver* observer : observers) observer->on_step(*this, result, evaluation ? &*evaluation : nullptr);
  state_.reported = true;
}

StepResult TrainingRun::step() {
  const auto start = std::chrono::steady_clock::now();
  const double learning_rate = learning_rate_at(config_, state_.step + 1);
  strategy_->begin_step(state_.step + 1);
  stage_batches(learning_rate);

  // On a GPU, replayed as a CUDA graph while these counts stay the same; on the CPU it simply runs.
  recording_.run(inputs_.predicted, !inputs_.long_step, [this] { forward_backward_update(); });
  strategy_->end_step();
  return finish_step(learning_rate, start);
}

void TrainingRun::forward_backward_update() {
  // Views of two of the step's scalars. They are summed on the device, so that the update need not wait for the host.
  Tensor loss = loss_of(inputs_.scalars), squared_norm = squared_norm_of(inputs_.scalars);
  for (std::size_t n = 0; n < inputs_.micro_batches.size(); ++n) {
    begin_micro_batch(n);
    const Batch& batch = inputs_.micro_batches[n];
    Tensor loss_of_batch = add_gradients(batch, loss_scale(batch));  // forward and backward
    strategy_->reduce_gradients();
    strategy_->add_loss(loss_of_batch.to(DType::F64), loss);
  }
  optimizer_->sum_squared_gradients(squared_norm, strategy_.get());
  optimizer_->step(inputs_.scalars);  // clips the gradients by their norm and updates the parameters
  strategy_->gather_parameters();
}

Tensor TrainingRun::add_gradients(const Batch& batch, double loss_scale) {
  const auto stop_check = stop_checks_.between_operations();
  Tape tape;
  Var loss = model_->loss(batch, loss_scale,
                          {.hooks = strategy_->forward_hooks(), .gradient_checkpointing = config_.recompute});
  tape.backward(loss);
  return loss.value();
}

std::int64_t TrainingRun::targets() const {
  return std::accumulate(inputs_.predicted.begin(), inputs_.predicted.end(), std::int64_t{0});
}

double TrainingRun::loss_scale(const Batch& batch) const {
  return targets() > 0 ? static_cast<double>(batch.predicted()) / static_cast<double>(targets()) : 0;
}

// Micro-batches n with n % world_size == rank are this process's.
TrainingRun::HostBatches TrainingRun::load_batches(std::int64_t step) const {
  HostBatches batches{.step = step, .micro_batches = {}};
  for (std::int64_t n = ranks_.rank(); n < config_.accumulate; n += ranks_.size())
    batches.micro_batches.push_back(data_->train_batch(step, n, config_.batch));
  return batches;
}

void TrainingRun::stage_batches(double learning_rate) {
  Device device = model_->parameters().device();
  if (next_.step != state_.step) next_ = load_batches(state_.step);
  std::vector<Batch> micro_batches = std::move(next_.micro_batches);
  next_.step = -1;
  Tensor scalars = make_step_scalars(learning_rate, state_.updates + 1);

  std::vector<std::int64_t> predicted;
  for (const Batch& batch : micro_batches) predicted.push_back(batch.predicted());
  inputs_.predicted = strategy_->all_gather_counts(predicted);
  if (device == Device::cpu) {
    inputs_.micro_batches = std::move(micro_batches);
    inputs_.scalars = scalars;
    return;
  }
  inputs_.long_step =
      strategy_->any(!state_.last || state_.last->seconds <= 0 || state_.last->seconds > long_step_seconds);
  if (!inputs_.scalars.defined()) {
    for (const Batch& batch : micro_batches) inputs_.micro_batches.push_back(batch.to(device));
    inputs_.scalars = scalars.to(device);
  } else {
    for (std::size_t n = 0; n < micro_batches.size(); ++n) inputs_.micro_batches[n].copy_from(micro_batches[n]);
    inputs_.scalars.copy_from(scalars);
  }
}

// A signal may stop the step here: after add_loss() no communication of the micro-batch before is pending.
void TrainingRun::begin_micro_batch(std::size_t n) {
  if (n > 0) stop_checks_.between_micro_batches(inputs_.long_step, inputs_.scalars);
  strategy_->begin_micro_batch(static_cast<std::int64_t>(n));
}

StepResult TrainingRun::finish_step(double learning_rate, std::chrono::steady_clock::time_point start) {
  if (model_->parameters().device() != Device::cpu && state_.step + 1 < config_.steps)
    next_ = load_batches(state_.step + 1);                 // while the device computes
  const Tensor scalars = inputs_.scalars.to(Device::cpu);  // waits for the device
  ranks_.wait();  // throws if a collective was aborted: values of this step are not reported
  const StepScalars& values = host_step_scalars(scalars);
  StepResult result{.step = state_.step + 1,
                    .loss = targets() > 0 ? values.loss : std::numeric_limits<double>::quiet_NaN(),
                    .gradient_norm = std::sqrt(values.squared_norm),
                    .learning_rate = learning_rate};
  result.skipped = !std::isfinite(values.loss) || !std::isfinite(result.gradient_norm);
  state_.step = result.step;
  state_.updates += result.skipped ? 0 : 1;
  state_.skipped_in_a_row = result.skipped ? state_.skipped_in_a_row + 1 : 0;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  state_.last = result;
  return result;
}

Evaluation TrainingRun::evaluate(bool with_patterns) {
  const auto stop_check = stop_checks_.between_operations();
  std::int64_t sequences = std::min(config_.eval_sequences, data_->validation_sequences());
  return sink::evaluate(*model_, data_->validation_batch(0, sequences), evaluation_batch, with_patterns,
                        {.ranks = &ranks_, .before_batch = [this] { stop_checks_.check(); }},
                        moved_fixed_token(config_));
}

SinkScores TrainingRun::key_alpha() {
  const auto stop_check = stop_checks_.between_operations();
  return scores_of_every_key(*model_, data_->train_batch(state_.step - 1, 0, config_.batch));
}

}  // namespace sink
