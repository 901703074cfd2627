// A run that ran out of memory says what would not.
#pragma once

#include "train/training_run.h"

namespace sink {

// Throws Error (Exit::out_of_memory): `error`, and the largest micro-batch that the memory is enough for, or what else
// needs less. What it recommends has been tried: gradients that add up, and an evaluation. Changes no number of the
// run.
[[noreturn]] void fail_with_what_fits(TrainingRun& run, const OutOfMemory& error);

}  // namespace sink
