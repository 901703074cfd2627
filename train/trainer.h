// Training from the first step to the final checkpoint: what train_<ablation> does. (`train_<ablation> init`:
// train/initial_model.h.)
#pragma once

#include "model/ablation.h"
#include "train/run_config.h"

namespace sink {

// Whether a run shows its progress on stderr and, at its end, its folder on stdout.
enum class Verbosity { progress, silent };

// Checks the device; sets the number of threads and the implementation (--reference) of this process.
void apply_compute_options(const RunConfig& config);

// One run, from its settings to evaluation.json in its run folder (train/run_folder.h), on as many threads and on the
// device that they ask for: what train_<ablation> and every process of `sweep` does. Returns 0, or 128 + n where signal
// n stopped it, saved. Throws Error, of which Exit::diverged is a run whose loss was not finite, saved too.
int train(const RunConfig& config, const Ablation& ablation, Verbosity verbosity);

// The whole program; returns its exit code.
int train_main(int argc, char** argv, const Ablation& ablation);

}  // namespace sink
