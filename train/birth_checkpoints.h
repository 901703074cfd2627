// BirthCheckpoints saves the model around the onset of its sink, as `<run>/birth/step-<n>.h5`: at the last N
// evaluations up to the one at which a head's attention on the first token exceeds 0.2, and at N evaluations after it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "train/progress.h"
#include "train/training_run.h"

namespace sink {

// A head whose alpha exceeds this is about to become a sink. Uniform attention has H_T / T, which is 0.07 at T = 64.
inline constexpr double kBirthAlpha = 0.2;

// The largest proxy alpha of any head, averaged over sequences: alpha_1 and, if the model prepends a key or token of
// its own, alpha_*, whichever is larger.
double largest_alpha(const Evaluation& evaluation);

// A file holds the parameters and, as the attribute `largest_alpha`, the measured alpha. That is all that a resumed run
// needs: after a kill at any moment and a resume from a checkpoint, the folder becomes that of an uninterrupted run. An
// older file is removed once the newer one is on the disk. It observes a step before the log does: a step in the log is
// not reported again.
class BirthCheckpoints : public TrainingObserver {
 public:
  // `around` > 0 is N. Removes the files of steps after `resumed_step` (0: a new run), because these steps are
  // repeated. `resumed_step` is the last step that was reported: a checkpoint of a run is saved before its step is
  // evaluated.
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
