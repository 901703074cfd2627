// --dry-run: the cost of a run, before it is started.
#pragma once

#include "train/training_run.h"

namespace sink {

// Runs forward and backward of one step on real data to measure memory and time, with a shorter sequence if a whole
// step would take long. Prints to stdout. Returns 0.
int print_dry_run(TrainingRun& run);

// The output of --dry-run for a run on several ranks: what one of them keeps and sends and, for given rates (--rate,
// --link), how long the run takes. Makes no model, so a laptop can plan for a cluster.
std::string text_of_rank_plan(const RunConfig& config, const Ablation& ablation, std::int64_t vocabulary, int ranks);

// Seconds of one optimizer step, from the same measurement.
double seconds_per_step(TrainingRun& run);

// For a run that reads `tokens` tokens: "2.31 passes over 7.222e+06 tokens of data", and one line per domain if there
// are several. Empty if the data never ends.
std::vector<std::string> data_use(const DataSource& data, double tokens);

}  // namespace sink
