// Chooses how many runs to train at once with how many threads each, and estimates how long they take. Both are
// measured with steps of the runs themselves, each in its own process, as they will be trained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/ablation.h"
#include "train/run_config.h"

namespace sink {

struct TimedRun {
  Ablation ablation;
  RunConfig config;
};

// Seconds of one step of each run, `at_once` of them measured at once; NaN for a run that cannot be started.
std::vector<double> seconds_per_step_of(const std::vector<TimedRun>& runs, std::size_t at_once);

struct MachinePlan {
  std::size_t workers = 1;   // processes at once
  std::int64_t threads = 1;  // of each process
  std::string measured;      // "2 of 1 thread 81 steps/s, 1 of 2 threads 63", or why nothing was measured
};

// Tries 1, 2, 4 ... threads per process with as many processes as fit on the cores (at most `runs`) and returns the
// fastest plan for steps of `run`. On a GPU: 1, 2, 4 ... processes that share it, as long as more are faster.
MachinePlan fastest_plan(const TimedRun& run, std::int64_t cores, std::size_t runs);

// Seconds of a whole run, evaluations included. Estimate: evaluating a sequence (forward only) costs a third of
// training on it.
double seconds_of_run(const RunConfig& config, double seconds_per_step);

// The settings on which the time of a step depends, as one text: all but real-valued ones (learning rate, decay), seeds
// and step counts.
std::string timing_key(const RunConfig& config);

}  // namespace sink
