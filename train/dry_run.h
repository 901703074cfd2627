// --dry-run: what a run would cost, before it is started.
#pragma once

#include "engine/data/data_source.h"
#include "model/ablation.h"
#include "train/run_config.h"

namespace sink {

// Takes one step's forward and backward pass on real data to measure memory and time, of a shorter sequence where a
// whole step would take long; prints to stdout. Returns 0.
int print_dry_run(const RunConfig& config, const Ablation& ablation, LanguageModel& model, const DataSource& data);

}  // namespace sink
