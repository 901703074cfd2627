// TensorboardLog: a run's curves as an event file next to metrics.jsonl, for `tensorboard --logdir runs`. metrics.jsonl
// is the record. Errors here are noted and never end a run. A file has records of length, checksum and a small protobuf
// message each, as https://github.com/tensorflow/tensorboard reads them (tensorboard/compat/proto/event.proto,
// record_writer.py).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/io/file.h"
#include "train/progress.h"
#include "train/training_run.h"

namespace sink {

// The checksum of the records: CRC-32 by Castagnoli's polynomial (RFC 3720, section B.4).
std::uint32_t crc32c(std::string_view bytes);

// The first record of a file. `time`: seconds since 1970.
std::string tensorboard_header(double time);
// Begins or resumes a run: earlier records of `step` and later steps are ignored.
std::string tensorboard_start(double time, std::int64_t step);
// The scalars of one step by name; the prefix of a name before "/" is its card.
std::string tensorboard_scalars(double time, std::int64_t step,
                                const std::vector<std::pair<std::string, double>>& scalars);

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
