// TrainingRun: a model in training: its data, optimizer and state, one step, and the loop. Everything that trains
// (train_<ablation>, sweep, bench_step, --dry-run) is a TrainingRun with its own observers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/data/data_source.h"
#include "eval/sink/evaluation.h"
#include "model/ablation.h"
#include "train/distributed/distributed_strategy.h"
#include "train/optimizer.h"
#include "train/run_config.h"
#include "train/step_recording.h"
#include "train/stop_checks.h"

namespace sink {

struct StepResult {
  std::int64_t step = 0;  // from 1
  double loss = 0;        // mean over the targets of all micro-batches, before the update; NaN where there are none
  double gradient_norm = 0;
  double learning_rate = 0;
  bool skipped = false;  // loss or gradient was NaN or infinite: the weights were left alone
  double seconds = 0;    // of the step alone; 0: not known, the step was taken before the run was resumed
};

// The state of a run. Data and learning rate are functions of the step, so this and the tensors are all of it.
struct RunState {
  std::int64_t step = 0;              // steps taken, skipped ones included
  std::int64_t updates = 0;           // of them, updates of the weights
  std::int64_t skipped_in_a_row = 0;  // at the end
  std::string initial_sha256 = {};    // of the parameters it began with (parameters_checksum); empty: they were drawn
  // The writer's: the last step, and whether observers have been told of it. A checkpoint is saved before its step is
  // evaluated, so a run may resume with a step that is still to be evaluated and reported.
  std::optional<StepResult> last = {};
  bool reported = true;
};

class TrainingRun;

// Is called while a run trains. The observers of a run are called in order.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  // After every step; with an evaluation of the model as it then is, where one was due.
  virtual void on_step(TrainingRun&, const StepResult&, const Evaluation*) {}
  // When the run should be saved: after on_step, but before a step with an evaluation is evaluated.
  virtual void on_checkpoint(TrainingRun&) {}
};

class TrainingRun {
 public:
  // Makes the model and the data that `config` describes, or takes other data, whose vocabulary the model then has. The
  // caller owns `ranks`; by default this process is the only one. (all): a collective call, which all ranks make.
  TrainingRun(const RunConfig& config, const Ablation& ablation, Communicator& ranks = single_process());
  TrainingRun(const RunConfig& config, const Ablation& ablation, std::unique_ptr<DataSource> data,
              Communicator& ranks = single_process());
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  enum class Ending { complete, diverged, stopped };
  // Trains up to config.steps. Evaluates after the first step, every eval_every steps (0: neither) and after the last
  // one. Calls on_checkpoint every checkpoint_every steps, at the end, and when a signal asks for it
  // (train/interrupt.h). Returns early after a stop signal to any rank, or after nan_patience skipped steps in a row. A
  // step or an evaluation that the signal interrupts is dropped; a resumed run repeats it from its beginning. (all)
  Ending train(const std::vector<TrainingObserver*>& observers);

  // One step: forward and backward of all micro-batches, clipping and the update, which is skipped where the loss or a
  // gradient is NaN or infinite. Reads values back to the host once, when all of it has been launched; on the CUDA
  // device that is one launch from the second step on. Throws Stopped where a signal asks to stop meanwhile; the run
  // then is where it was before, but for gradients. (all)
  StepResult step();
  // Forward and backward of one micro-batch: adds `loss_scale` times the gradients of its mean loss, and returns
  // `loss_scale` times that loss (one element).
  Tensor add_gradients(const Batch& batch, double loss_scale);
  // Evaluates the first eval_sequences validation sequences, `evaluation_batch` at a time; the batches are distributed
  // over the ranks. All ranks get the result, only the writer attention patterns. Throws Stopped like step(). (all)
  Evaluation evaluate(bool with_patterns = false);
  // alpha of every key on the first micro-batch of the last step, by the weights after it.
  SinkScores key_alpha();
  std::int64_t evaluation_batch;  // config.batch by default
  // On a GPU, a step is not recorded as a CUDA graph when the last one took longer, so that a signal can interrupt it.
  double long_step_seconds = 1;

  const RunConfig& config() const { return config_; }
  const Ablation& ablation() const { return ablation_; }
  const DataSource& data() const { return *data_; }
  LanguageModel& model() { return *model_; }
  Optimizer& optimizer() { return *optimizer_; }
  const RunState& state() const { return state_; }
  const StepRecording& recording() const { return recording_; }
  Communicator& ranks() { return ranks_; }
  const DistributedStrategy& strategy() const { return *strategy_; }
  // The signal that train() ended by, to whichever rank it came; 0: none.
  int stop_signal() const { return stop_signal_; }
  // Where the run resumes.
  void set_state(const RunState& state) { state_ = state; }

 private:
  // The inputs of a step. On a device they keep their addresses, so that a recorded step reads the new values.
  struct Inputs {
    std::vector<Batch> micro_batches;     // of this process
    std::vector<std::int64_t> predicted;  // targets of every micro-batch of the step
    bool long_step = true;                // the last step took longer than long_step_seconds, or is not known
    Tensor scalars;                       // StepScalars (engine/ops/optimizer/update.h)
  };
  // This process's micro-batches of one step, in host memory.
  struct HostBatches {
    std::int64_t step = -1;
    std::vector<Batch> micro_batches;
  };
  HostBatches load_batches(std::int64_t step) const;
  void stage_batches(double learning_rate);
  // All micro-batches of the step and the update.
  void forward_backward_update();
  void begin_micro_batch(std::size_t n);
  std::int64_t targets() const;  // of all micro-batches of the step
  // The mean loss of the step is the sum of the mean losses of its micro-batches, each scaled by its part of the
  // targets.
  double loss_scale(const Batch& batch) const;
  StepResult finish_step(double learning_rate, std::chrono::steady_clock::time_point start);
  bool evaluation_is_due() const;
  void report(const std::vector<TrainingObserver*>& observers);

  Communicator& ranks_;
  RunConfig config_;
  Ablation ablation_;
  std::unique_ptr<DataSource> data_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<DistributedStrategy> strategy_;
  std::unique_ptr<Optimizer> optimizer_;
  RunState state_;
  StopChecks stop_checks_;
  int stop_signal_ = 0;
  Inputs inputs_;
  HostBatches next_;  // loaded while a device works on the current step
  StepRecording recording_;
};

}  // namespace sink
