// How a machine trains several runs fastest, and how long it takes: measured with steps of the runs themselves, each in
// a process of its own, as they will be trained.
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

// Seconds of one step of each, of which `at_once` are measured at once; NaN for one that cannot be run.
std::vector<double> seconds_per_step_of(const std::vector<TimedRun>& runs, std::size_t at_once);

struct MachinePlan {
  std::size_t workers = 1;   // processes at once
  std::int64_t threads = 1;  // of each
  std::string measured;      // "2 of 1 thread 81 steps/s, 1 of 2 threads 63", or why nothing was measured
};

// Tries 1, 2, 4 ... threads a process with as many processes as there are cores for (at most `runs`), by steps of this
// run. A device that is one is not shared: there one process has all threads.
MachinePlan fastest_plan(const TimedRun& run, std::int64_t cores, std::size_t runs);

// Seconds of a run of so many steps, its measurements included: a sequence that is evaluated costs a third of one that
// is trained on (its forward pass), which is an estimate.
double seconds_of_run(const RunConfig& config, double seconds_per_step);

// What a step's time depends on, as one text: everything but values that only scale (learning rate, decay), seeds and
// counts of steps.
std::string shape_of(const RunConfig& config);

}  // namespace sink
