// metrics.jsonl: one JSON object per step, appended and handed to the system at once, so that a killed run loses none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/file.h"
#include "eval/sink/measures.h"

namespace sink {

// The scalars of an evaluation by their names (eval/sink/MEASURES.md), and the sinks at the paper's 0.3.
std::vector<std::pair<std::string, double>> values_of(const Evaluation& evaluation);

struct StepRecord {
  std::int64_t step = 0;
  std::int64_t tokens = 0;  // seen since the run began
  double seconds = 0;       // since the run began
  double tokens_per_second = 0;
  double learning_rate = 0;
  double train_loss = 0;
  double grad_norm = 0;
  bool skipped = false;  // NaN: the weights were left alone
  std::optional<Evaluation> evaluation;
  // --key-alpha-every: scores_of_every_key (eval/sink/evaluation.h) of the step's first micro-batch after the update,
  // as train_alpha_layer_head_k and train_alpha_star_layer_head.
  std::optional<SinkScores> key_alpha{};
};

// Values of train_alpha_layer_head_k in a line, at most.
inline constexpr std::int64_t kMaxKeyAlphas = std::int64_t{1} << 20;
// Refuses (Error, Exit::usage) --key-alpha-every, if given, for more.
void require_line_length(std::int64_t key_alpha_every, std::int64_t alphas);

// The line, without its end. Values are printed as %.9g; NaN and infinities are the texts "nan", "inf", "-inf".
std::string to_json(const StepRecord& record);

class RunLog {
 public:
  // Appends to `path`. A new run passes -1 and drops all lines. A run that resumes from step n keeps one line for each
  // step <= n, in order, and drops the rest, including a half-written last line. Lines that are damaged, duplicate (the
  // last one counts) or out of order are repaired; the original file is kept as metrics.damaged-<n>.jsonl in the same
  // folder. Missing lines cannot be restored, except the last one if `last_comes` (RunState::last). note() reports all
  // this. Throws Error (Exit::io).
  explicit RunLog(const std::string& path, std::int64_t resumed_step = -1, bool last_comes = false);

  // Throws Error (Exit::io) when the line cannot be written; no half of it stays in the file.
  void write(const StepRecord& record);
  // The time of the last line that was kept, from which the clock of a resumed run continues; 0 for a new run.
  double seconds() const { return seconds_; }
  // The step and the pace of the last line that was kept; 0 where there is none.
  std::int64_t last_step() const { return last_step_; }
  double tokens_per_second() const { return tokens_per_second_; }
  // What was wrong with the lines of a resumed run, in one line; empty if nothing was.
  const std::string& note() const { return note_; }
  // Waits until the lines are on the disk; called before a checkpoint, so that no checkpoint outlives its log.
  void sync();

 private:
  // Finds out, repairs and notes what the file holds up to that step; returns the bytes to keep.
  std::int64_t look_through(std::int64_t last_step, bool last_comes);
  void drop_after(std::int64_t bytes);

  std::string path_;
  FileDescriptor descriptor_;
  std::int64_t bytes_ = 0;  // of whole lines
  double seconds_ = 0, tokens_per_second_ = 0;
  std::int64_t last_step_ = 0;
  std::string note_;
};

}  // namespace sink
