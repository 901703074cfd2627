// Progress on stderr: one redrawn line on a terminal, else a plain line every log_every steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "train/run_log.h"

namespace sink {

// `step 120/1000  12%  loss 5.432  sink_1 12.3%  sink_* 25.0%  45.2k tok/s  2m13s left`, without the last parts if they
// do not fit into `width` columns. `measured` is the last evaluation, if any. sink_* is shown if the model has an extra
// key or a sink token. seconds_left < 0: not known yet.
std::string progress_line(const StepRecord& record, std::int64_t steps, const std::optional<Evaluation>& measured,
                          double seconds_left, int width);
// `step 100: val loss 5.31, sink_1 12.34% (raw 3.21%), alpha_1 0.123 (max 0.456), row sum 1.000`; with an extra key
// also `sink_* 25.00% (raw 25.00%)`, `alpha_* 0.281 (raw 0.281)` and `, of it 0.270 on the extra key`
std::string evaluation_line(const StepRecord& record);
// "8s", "2m13s", "1h05m", "3d04h"
std::string duration(double seconds);

class Progress {
 public:
  // `silent`: prints nothing, for runs that train at the same time.
  Progress(std::int64_t steps, std::int64_t log_every, bool silent = false);
  ~Progress();  // leaves the cursor on a fresh line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows the step; the evaluation of the last one gets a line that stays.
  void show(const StepRecord& record);
  // Prints a line that stays, above the redrawn one.
  void note(const std::string& line);
  // Ends the redrawn line: what the program prints next begins on a line of its own.
  void end_line();

 private:
  using Clock = std::chrono::steady_clock;
  void clear();
  double seconds_left(std::int64_t step);

  std::int64_t steps_;
  std::int64_t log_every_;
  bool silent_;
  bool redraws_;
  bool drawn_ = false;  // the cursor is on a redrawn line
  std::optional<Evaluation> measured_;
  std::int64_t first_step_ = -1;  // the first this process showed, and when: a resumed run has its own pace
  Clock::time_point first_time_;
  Clock::time_point last_drawn_;
};

}  // namespace sink
