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
      optimizer_(model_->parameters(), config) {}

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
  // On the device, where the update finds them: all of the step is launched before anything is waited for.
  Tensor numbers = adamw_numbers(learning_rate, state_.updates + 1, model_->parameters().device());
  auto number = [&](std::int64_t which) { return numbers.rows(which, which + 1); };
  Tensor loss = number(AdamwNumber::loss), squared_norm = number(AdamwNumber::squared_norm);
  for (std::int64_t micro = 0; micro < config_.accumulate; ++micro) {
    Batch batch = data_->train_batch(step - 1, micro, config_.batch);
    add_into(loss, add_gradients(batch, 1 / static_cast<double>(config_.accumulate)).to(DType::F64));
  }
  optimizer_.sum_squared_gradients(squared_norm);
  optimizer_.step(numbers);

  numbers = numbers.to(Device::cpu);
  StepResult result{.step = step,
                    .loss = numbers.item(AdamwNumber::loss),
                    .gradient_norm = std::sqrt(numbers.item(AdamwNumber::squared_norm)),
                    .learning_rate = learning_rate};
  result.skipped = !std::isfinite(result.loss) || !std::isfinite(result.gradient_norm);
  state_.step = step;
  state_.updates += result.skipped ? 0 : 1;
  state_.skipped_in_a_row = result.skipped ? state_.skipped_in_a_row + 1 : 0;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
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
