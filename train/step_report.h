// StepReport: what a run says of its steps while it trains, in metrics.jsonl and on the terminal.
#pragma once

#include <chrono>

#include "train/progress.h"
#include "train/run_log.h"
#include "train/training_run.h"

namespace sink {

class StepReport : public TrainingObserver {
 public:
  // Writes to both, which stay the caller's. The clock starts now, where the log's stopped.
  StepReport(RunLog& log, Progress& progress) : log_(log), progress_(progress) {}

  void on_step(TrainingRun& run, const StepResult& result, const Evaluation* evaluation) override;
  // Has the log on the disk before the checkpoint that goes with it.
  void on_checkpoint(TrainingRun&) override { log_.sync(); }

 private:
  using Clock = std::chrono::steady_clock;

  RunLog& log_;
  Progress& progress_;
  Clock::time_point start_ = Clock::now();
  double seconds_per_step_ = 0;  // a running mean: single steps are at the mercy of the scheduler
};

}  // namespace sink
