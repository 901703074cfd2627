// --dry-run: what a run would cost, before it is started.
#pragma once

#include "train/training_run.h"

namespace sink {

// Takes one step's forward and backward pass on real data to measure memory and time, of a shorter sequence where a
// whole step would take long; prints to stdout. Returns 0.
int print_dry_run(TrainingRun& run);

// What --dry-run says of a run on several ranks: what one of them keeps and sends, and, of stated rates (--rate,
// --link), how long it takes. Makes no model: a laptop plans for a cluster.
std::string text_of_rank_plan(const RunConfig& config, const Ablation& ablation, std::int64_t vocabulary, int ranks);

// Seconds of one optimiser step, from the same measurement.
double seconds_per_step(TrainingRun& run);

}  // namespace sink
