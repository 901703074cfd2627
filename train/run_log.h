// metrics.jsonl: one JSON object per step, appended and handed to the system at once, so that a killed run loses none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sink {

// What is measured on validation sequences; sinks in percent, `_raw` of weights as they act (the others of proxy
// weights where rows do not sum to one).
struct EvalRecord {
  double val_loss = 0;
  double sink_1 = 0;
  double sink_1_raw = 0;
  double alpha_1 = 0;  // mean over layers, heads and sequences
  double alpha_1_raw = 0;
  double alpha_1_max = 0;
  double row_mass = 0;  // without the extra key's part
  double first_value_norm_ratio = 0;

  // Of the extra key or sink token, where the model has one.
  struct Star {
    double sink = 0, sink_raw = 0, alpha = 0, alpha_raw = 0;
    std::optional<double> extra_key_mass = {};  // the extra key's part of a row
  };
  std::optional<Star> star = {};
};

struct StepRecord {
  std::int64_t step = 0;
  std::int64_t tokens = 0;  // seen since the run began
  double seconds = 0;       // since the run began
  double tokens_per_second = 0;
  double learning_rate = 0;
  double train_loss = 0;
  double grad_norm = 0;
  bool skipped = false;  // NaN: the weights were left alone
  std::optional<EvalRecord> evaluation;
};

// The line, without its end: numbers as %.9g, NaN and infinities as the texts "nan", "inf", "-inf".
std::string to_json(const StepRecord& record);

class RunLog {
 public:
  // Appends to `path`. A run that goes on from step n keeps one line each of steps <= n, in their order, and drops the
  // rest (and a half-written last line); a new run passes -1 and drops all. Lines that are damaged, doubled (the last
  // one counts) or out of order are repaired, and the file as it was is kept as metrics.damaged-<n>.jsonl beside; lines
  // that are missing cannot be made again, but for the last one where `last_comes` (RunState::last). note() says so.
  // Throws Error (Exit::io).
  explicit RunLog(const std::string& path, std::int64_t resumed_step = -1, bool last_comes = false);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // Throws Error (Exit::io) when the line cannot be written; no half of it stays in the file.
  void write(const StepRecord& record);
  // The clock of the last line that was kept, where a resumed run's goes on; 0 for a new run.
  double seconds() const { return seconds_; }
  // The step and the pace of the last line that was kept; 0 where there is none.
  std::int64_t last_step() const { return last_step_; }
  double tokens_per_second() const { return tokens_per_second_; }
  // What was wrong with the lines of a run that goes on, in one line; empty: nothing.
  const std::string& note() const { return note_; }
  // Waits until the lines are on the disk; called before a checkpoint, so that no checkpoint outlives its log.
  void sync();

 private:
  // Finds out, repairs and notes what the file holds up to that step; returns the bytes to keep.
  std::int64_t look_through(std::int64_t last_step, bool last_comes);
  void drop_after(std::int64_t bytes);

  std::string path_;
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;  // of whole lines
  double seconds_ = 0, tokens_per_second_ = 0;
  std::int64_t last_step_ = 0;
  std::string note_;
};

}  // namespace sink
