#include "train/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "autograd/tape.h"
#include "engine/ops/add/add.h"
#include "train/initial_model.h"
#include "train/interrupt.h"
#include "train/schedule.h"

namespace sink {

TrainingRun::TrainingRun(const RunConfig& config, const Ablation& ablation)
    : TrainingRun(config, ablation, make_data_source(config)) {}

TrainingRun::TrainingRun(const RunConfig& config, const Ablation& ablation, std::unique_ptr<DataSource> data)
    : evaluation_batch(config.batch),
      config_(config),
      ablation_(ablation),
      data_(std::move(data)),
      model_(make_run_model(config, ablation, data_->vocabulary())),
      optimizer_(make_optimizer(model_->parameters(), config)),
      recording_(model_->parameters().device(), config.graph == "on") {}

TrainingRun::Ending TrainingRun::train(const std::vector<TrainingObserver*>& observers) {
  while (state_.step < config_.steps) {
    StepResult result = step();
    bool last = state_.step == config_.steps, diverged = state_.skipped_in_a_row >= config_.nan_patience;

    std::optional<Evaluation> evaluation;
    if (state_.step == 1 || last || state_.step % config_.eval_every == 0) evaluation = evaluate();
    for (TrainingObserver* observer : observers) observer->on_step(*this, result, evaluation ? &*evaluation : nullptr);

    bool stop = stop_requested() != 0;
    if (take_save_request() || last || stop || diverged || state_.step % config_.checkpoint_every == 0)
      for (TrainingObserver* observer : observers) observer->on_checkpoint(*this);
    if (stop && !last) return Ending::stopped;
    if (diverged) return Ending::diverged;
  }
  return Ending::complete;
}

StepResult TrainingRun::step() {
  auto start = std::chrono::steady_clock::now();
  std::int64_t step = state_.step + 1;
  double learning_rate = learning_rate_at(config_, step);
  bring_inputs(learning_rate);
  if (recording_.wanted())
    recording_.run(constants_of_step(), [&] { launch_step(); });
  else
    launch_step();

  Tensor numbers = inputs_.numbers.to(Device::cpu);
  StepResult result{.step = step,
                    .loss = numbers.item(UpdateNumber::loss),
                    .gradient_norm = std::sqrt(numbers.item(UpdateNumber::squared_norm)),
                    .learning_rate = learning_rate};
  result.skipped = !std::isfinite(result.loss) || !std::isfinite(result.gradient_norm);
  state_.step = step;
  state_.updates += result.skipped ? 0 : 1;
  state_.skipped_in_a_row = result.skipped ? state_.skipped_in_a_row + 1 : 0;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

void TrainingRun::bring_inputs(double learning_rate) {
  Device device = model_->parameters().device();
  std::vector<Batch> micro_batches;
  for (std::int64_t micro = 0; micro < config_.accumulate; ++micro)
    micro_batches.push_back(data_->train_batch(state_.step, micro, config_.batch));
  Tensor numbers = update_numbers(learning_rate, state_.updates + 1);

  if (device == Device::cpu) {
    inputs_ = {std::move(micro_batches), numbers};
  } else if (!inputs_.numbers.defined()) {
    for (const Batch& batch : micro_batches) inputs_.micro_batches.push_back(batch.to(device));
    inputs_.numbers = numbers.to(device);
  } else {
    for (std::size_t n = 0; n < micro_batches.size(); ++n) inputs_.micro_batches[n].copy_from(micro_batches[n]);
    inputs_.numbers.copy_from(numbers);
  }
}

std::vector<std::int64_t> TrainingRun::constants_of_step() const {
  std::vector<std::int64_t> predicted;
  for (const Batch& batch : inputs_.micro_batches) predicted.push_back(batch.predicted());
  return predicted;
}

// Nothing here or below waits for the device or reads of the host what may differ from step to step.
void TrainingRun::launch_step() {
  auto number = [&](std::int64_t which) { return inputs_.numbers.rows(which, which + 1); };
  Tensor loss = number(UpdateNumber::loss), squared_norm = number(UpdateNumber::squared_norm);
  double predicted = 0;
  for (const Batch& batch : inputs_.micro_batches) predicted += static_cast<double>(batch.predicted());
  for (const Batch& batch : inputs_.micro_batches) {
    double part = predicted > 0 ? static_cast<double>(batch.predicted()) / predicted : 0;
    add_into(loss, add_gradients(batch, part).to(DType::F64));
  }
  optimizer_->sum_squared_gradients(squared_norm);
  optimizer_->step(inputs_.numbers);
}

Tensor TrainingRun::add_gradients(const Batch& batch, double weight) {
  Tape tape;
  Var loss = model_->loss(batch, weight, {.recompute = config_.recompute});
  tape.backward(loss);
  return loss.value();
}

Evaluation TrainingRun::evaluate(bool with_maps) {
  std::int64_t sequences = std::min(config_.eval_sequences, data_->validation_sequences());
  return sink::evaluate(*model_, data_->validation_batch(0, sequences), evaluation_batch, with_maps);
}

}  // namespace sink
