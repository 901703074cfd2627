// Advice for a run that ran out of memory: settings that fit.
#pragma once

#include "train/training_run.h"

namespace sink {

// Throws Error (Exit::out_of_memory) with `error` and the largest micro-batch that fits, or another setting that needs
// less memory. The recommendation has been tested with gradients that accumulate and an evaluation. Does not change the
// results of the run.
[[noreturn]] void fail_with_what_fits(TrainingRun& run, const OutOfMemory& error);

}  // namespace sink
