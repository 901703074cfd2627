// TensorboardLog: a run's curves as an event file beside metrics.jsonl, for `tensorboard --logdir runs`. metrics.jsonl
// is the record; this is a view of it, and what goes wrong here is noted and never ends a run.
#pragma once

#include <string>

#include "train/progress.h"
#include "train/training_run.h"

namespace sink {

class TensorboardLog : public TrainingObserver {
 public:
  // Begins a file in `folder` for the steps after `resumed_step` (0: a new run), which take the place of what older
  // files say of them.
  TensorboardLog(const std::string& folder, std::int64_t resumed_step, Progress& progress);
  ~TensorboardLog() override;
  TensorboardLog(const TensorboardLog&) = delete;
  TensorboardLog& operator=(const TensorboardLog&) = delete;

  // The same numbers as in metrics.jsonl, as loss/train, sink/sink_1, ...
  void on_step(TrainingRun& run, const StepResult& result, const Evaluation* evaluation) override;

 private:
  void write(const std::string& bytes);

  std::string path_;
  Progress& progress_;
  int descriptor_ = -1;
};

}  // namespace sink
