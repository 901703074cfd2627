// TensorboardLog: a run's curves as an event file next to metrics.jsonl, for `tensorboard --logdir runs`. metrics.jsonl
// is the record. Errors here are noted and never end a run.
#pragma once

#include <string>

#include "engine/io/file.h"
#include "train/progress.h"
#include "train/training_run.h"

namespace sink {

class TensorboardLog : public TrainingObserver {
 public:
  // Begins a file in `folder` for the steps after `resumed_step` (0: a new run). They replace those steps in older
  // files.
  TensorboardLog(const std::string& folder, std::int64_t resumed_step, Progress& progress);

  // Writes the values of metrics.jsonl as loss/train, sink/sink_1, ...
  void on_step(TrainingRun& run, const StepResult& result, const Evaluation* evaluation) override;

 private:
  void write(const std::string& bytes);

  std::string path_;
  Progress& progress_;
  FileDescriptor descriptor_;
};

}  // namespace sink
