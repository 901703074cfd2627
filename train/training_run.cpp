#include "train/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "autograd/tape.h"
#include "engine/ops/add/add.h"
#include "train/initial_model.h"
#include "train/interrupt.h"
#include "train/schedule.h"

namespace sink {

namespace {

ArenaShare share_of(const RunConfig& config, const ParameterArena& parameters, const Communicator& ranks) {
  return config.zero == 0 || ranks.alone() ? ArenaShare(parameters)
                                           : ArenaShare(parameters, ranks.rank(), ranks.size());
}

std::unique_ptr<LanguageModel> make_cut_model(const RunConfig& config, const Ablation& ablation,
                                              std::int64_t vocabulary, const Communicator& ranks) {
  auto model = make_run_model(config, ablation, vocabulary);
  model->parameters().cut_among(ranks.size());
  return model;
}

}  // namespace

TrainingRun::TrainingRun(const RunConfig& config, const Ablation& ablation, Communicator& ranks)
    : TrainingRun(config, ablation, make_data_source(config), ranks) {}

TrainingRun::TrainingRun(const RunConfig& config, const Ablation& ablation, std::unique_ptr<DataSource> data,
                         Communicator& ranks)
    : evaluation_batch(config.batch),
      ranks_(ranks),
      config_(config),
      ablation_(ablation),
      data_(std::move(data)),
      model_(make_cut_model(config, ablation, data_->vocabulary(), ranks)),
      optimizer_(make_optimizer(model_->parameters(), config, share_of(config, model_->parameters(), ranks))),
      recording_(model_->parameters().device(), config.graph == "on" && ranks.alone()) {
  require_ranks_divide(config, ranks.size());
  gradient_sum_ = std::make_unique<GradientSum>(model_->parameters(), ranks, config.accumulate / ranks.size(),
                                                config.gradient_sum == "ordered", optimizer_->share().is_whole());
}

TrainingRun::Ending TrainingRun::train(const std::vector<TrainingObserver*>& observers) {
  stop_signal_ = 0;
  std::int64_t saved_step = 0;  // there is nothing to save before the first step
  const auto save = [&] {
    if (saved_step == state_.step) return;
    for (TrainingObserver* observer : observers) observer->on_checkpoint(*this);
    saved_step = state_.step;
  };
  try {
    if (ranks_.exchange(state_.reported ? "reported" : "").front().empty()) report(observers);
    while (state_.step < config_.steps) {
      step();
      state_.reported = false;
      const bool last = state_.step == config_.steps, diverged = state_.skipped_in_a_row >= config_.nan_patience;
      if (!evaluation_is_due()) report(observers);
      const int signal = agreed_stop_signal();
      if (std::exchange(save_wanted_, false) || last || diverged || state_.step % config_.checkpoint_every == 0) save();
      if (signal != 0) throw Stopped{signal};
      if (evaluation_is_due()) report(observers);
      if (diverged) return Ending::diverged;
    }
  } catch (const Stopped& stopped) {
    stop_signal_ = stopped.signal;
    optimizer_->skip();  // the gradients of an interrupted step
    save();
    return Ending::stopped;
  }
  return Ending::complete;
}

bool TrainingRun::evaluation_is_due() const {
  return state_.step == 1 || state_.step == config_.steps || state_.step % config_.eval_every == 0;
}

void TrainingRun::report(const std::vector<TrainingObserver*>& observers) {
  std::optional<Evaluation> evaluation;
  if (evaluation_is_due()) evaluation = evaluate();
  const StepResult result = state_.last.value_or(StepResult{.step = state_.step});
  for (TrainingObserver* observer : observers) observer->on_step(*this, result, evaluation ? &*evaluation : nullptr);
  state_.reported = true;
}

// Ranks that heard different signals leave by that of the first one that heard any.
int TrainingRun::agreed_stop_signal() {
  const std::string own{static_cast<char>(stop_requested()), static_cast<char>(take_save_request())};
  int signal = 0;
  for (const std::string& heard : ranks_.exchange(own)) {
    SINK_CHECK(heard.size() == 2, "ranks", "expected two bytes of signals, got " + std::to_string(heard.size()));
    if (signal == 0) signal = heard[0];
    save_wanted_ |= heard[1] != 0;
  }
  return signal;
}

void TrainingRun::throw_if_stopped() {
  if (const int signal = agreed_stop_signal()) throw Stopped{signal};
}

std::unique_ptr<StopCheck> TrainingRun::stop_between_operations() {
  if (!ranks_.alone() || model_->parameters().device() != Device::cpu) return nullptr;
  return std::make_unique<StopCheck>([] {
    if (const int signal = stop_requested()) throw Stopped{signal};
  });
}

void TrainingRun::throw_if_stopped_between_micro_batches(std::size_t round) {
  const bool on_device = model_->parameters().device() != Device::cpu;
  if (round == 0 || (on_device && !inputs_.long_step)) return;
  if (on_device) inputs_.numbers.to(Device::cpu);  // waits for the micro-batches before
  throw_if_stopped();
}

StepResult TrainingRun::step() {
  auto start = std::chrono::steady_clock::now();
  const Communicator::Traffic before = ranks_.traffic();
  std::int64_t step = state_.step + 1;
  ranks_.reaches(step);
  double learning_rate = learning_rate_at(config_, step);
  bring_inputs(learning_rate);
  if (recording_.wanted())
    recording_.run(inputs_.predicted, !inputs_.long_step, [&] { launch_step(); });
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
  const Communicator::Traffic after = ranks_.traffic();
  ++step_traffic_.steps;
  step_traffic_.bytes_sent += after.bytes_sent - before.bytes_sent;
  step_traffic_.seconds_busy += after.seconds_busy - before.seconds_busy;
  step_traffic_.seconds_waited += after.seconds_waited - before.seconds_waited;
  state_.last = result;
  return result;
}

void TrainingRun::bring_inputs(double learning_rate) {
  Device device = model_->parameters().device();
  std::vector<Batch> micro_batches;
  for (std::int64_t micro = ranks_.rank(); micro < config_.accumulate; micro += ranks_.size())
    micro_batches.push_back(data_->train_batch(state_.step, micro, config_.batch));
  Tensor numbers = update_numbers(learning_rate, state_.updates + 1);

  std::vector<std::int64_t> own;
  for (const Batch& batch : micro_batches) own.push_back(batch.predicted());
  own.push_back(!state_.last || state_.last->seconds > long_step_seconds);
  inputs_.predicted = by_number(own);
  const auto flags = inputs_.predicted.end() - ranks_.size();
  inputs_.long_step = std::count(flags, inputs_.predicted.end(), 1) > 0;
  inputs_.predicted.erase(flags, inputs_.predicted.end());
  if (device == Device::cpu) {
    inputs_.micro_batches = std::move(micro_batches);
    inputs_.numbers = numbers;
  } else if (!inputs_.numbers.defined()) {
    for (const Batch& batch : micro_batches) inputs_.micro_batches.push_back(batch.to(device));
    inputs_.numbers = numbers.to(device);
  } else {
    for (std::size_t n = 0; n < micro_batches.size(); ++n) inputs_.micro_batches[n].copy_from(micro_batches[n]);
    inputs_.numbers.copy_from(numbers);
  }
}

// Of this rank's micro-batches, to those of all.
std::vector<std::int64_t> TrainingRun::by_number(const std::vector<std::int64_t>& own) {
  if (ranks_.alone()) return own;
  const std::vector<std::string> all =
      ranks_.exchange(std::string(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(std::int64_t)));
  std::vector<std::int64_t> numbers(all.size() * own.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    SINK_CHECK(all[rank].size() == own.size() * sizeof(std::int64_t), "ranks",
               "rank " + std::to_string(rank) + " has another number of micro-batches");
    for (std::size_t n = 0; n < own.size(); ++n)
      std::memcpy(&numbers[n * all.size() + rank], all[rank].data() + n * sizeof(std::int64_t), sizeof(std::int64_t));
  }
  return numbers;
}

// On a device, nothing here or below waits for it or reads of the host what may differ from step to step.
void TrainingRun::launch_step() {
  auto number = [&](std::int64_t which) { return inputs_.numbers.rows(which, which + 1); };
  Tensor loss = number(UpdateNumber::loss), squared_norm = number(UpdateNumber::squared_norm);
  double predicted = 0;
  for (std::int64_t targets : inputs_.predicted) predicted += static_cast<double>(targets);
  for (std::size_t round = 0; round < inputs_.micro_batches.size(); ++round) {
    const Batch& batch = inputs_.micro_batches[round];
    throw_if_stopped_between_micro_batches(round);  // what ranks send of one has arrived when add_loss returns
    double part = predicted > 0 ? static_cast<double>(batch.predicted()) / predicted : 0;
    gradient_sum_->begin_round(static_cast<std::int64_t>(round));
    Tensor loss_of_batch = add_gradients(batch, part).to(DType::F64);
    gradient_sum_->end_round();
    add_loss(loss_of_batch, loss);
  }
  optimizer_->sum_squared_gradients(squared_norm, ranks_);
  optimizer_->step(inputs_.numbers);
  gather_parameters();
}

// In the order of micro-batches, like gradients.
void TrainingRun::add_loss(const Tensor& loss_of_batch, Tensor& loss) {
  if (ranks_.alone()) return add_into(loss, loss_of_batch);
  Tensor losses = loss.new_zeros({ranks_.size()}, DType::F64);
  losses.rows(ranks_.rank(), ranks_.rank() + 1).copy_from(loss_of_batch);
  ranks_.all_gather(losses);
  ranks_.wait();
  for (std::int64_t rank = 0; rank < ranks_.size(); ++rank) add_into(loss, losses.rows(rank, rank + 1));
}

// What every rank has updated of its share comes to all.
void TrainingRun::gather_parameters() {
  if (optimizer_->share().is_whole()) return;
  ParameterArena& parameters = model_->parameters();
  for (const Segment& section : parameters.sections()) {
    Tensor whole = parameters.masters().rows(section.begin, section.end);
    ranks_.all_gather(whole);
  }
  ranks_.wait();
  parameters.refresh();
}

Tensor TrainingRun::add_gradients(const Batch& batch, double weight) {
  const auto stop_check = stop_between_operations();
  Tape tape;
  Var loss = model_->loss(batch, weight, {.hooks = gradient_sum_.get(), .gradient_checkpointing = config_.recompute});
  tape.backward(loss);
  return loss.value();
}

Evaluation TrainingRun::evaluate(bool with_maps) {
  const auto stop_check = stop_between_operations();
  std::int64_t sequences = std::min(config_.eval_sequences, data_->validation_sequences());
  return sink::evaluate(*model_, data_->validation_batch(0, sequences), evaluation_batch, with_maps,
                        {.ranks = &ranks_, .before_batch = [this] { throw_if_stopped(); }});
}

}  // namespace sink
