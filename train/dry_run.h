// --dry-run: what a run would cost, before it is started.
#pragma once

#include "train/training_run.h"

namespace sink {

// Takes one step's forward and backward pass on real data to measure memory and time, of a shorter sequence where a
// whole step would take long; prints to stdout. Returns 0.
int print_dry_run(TrainingRun& run);

// Seconds of one optimiser step, from the same measurement.
double seconds_per_step(TrainingRun& run);

}  // namespace sink
