// BirthCheckpoints: the model around the birth of its sink, <run>/birth/step-<n>.h5: the last N evaluations up to the
// one at which a head's attention on the first token passes 0.2, and N after it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "train/progress.h"
#include "train/training_run.h"

namespace sink {

// A head whose alpha is above this is a sink in the making; evenly spread attention has H_T / T, 0.07 at T = 64.
inline constexpr double kBirthAlpha = 0.2;

// The largest proxy alpha of any head, mean over sequences: alpha_1 or, where the model puts a key or token of its own
// in front, which takes the first token's place as the sink, alpha_*.
double largest_alpha(const Evaluation& evaluation);

// Files hold parameters alone, and the alpha that was measured as the attribute `largest_alpha`, which is all that is
// needed to go on: killed at any moment and resumed from a checkpoint of the run, the folder becomes what an
// uninterrupted run has. An older file goes when the newer one is on the disk.
class BirthCheckpoints : public TrainingObserver {
 public:
  // `around` > 0 is N. Removes the files of steps after `resumed_step` (0: a new run), which come again: the last step
  // that was reported, for a run's own checkpoint is saved before its step is evaluated.
  BirthCheckpoints(const std::string& run_folder, std::int64_t around, std::int64_t resumed_step, Progress& progress);

  void on_step(TrainingRun& run, const StepResult& result, const Evaluation* evaluation) override;

 private:
  std::string path_of(std::int64_t step) const;
  bool is_complete() const;

  std::string folder_;
  std::int64_t around_;
  Progress& progress_;
  std::set<std::int64_t> steps_;       // of the files that are there
  std::optional<std::int64_t> birth_;  // the first step above kBirthAlpha
};

}  // namespace sink
