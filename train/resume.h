// Saving a run and going on with it, bit for bit.
#pragma once

#include "engine/io/checkpoint.h"
#include "train/training_run.h"

namespace sink {

// The model as it stands, with everything that says what it is: to be measured, not to go on from.
Checkpoint parameters_of(TrainingRun& run);
// That and what its optimiser keeps, written by the writer; all ranks call it.
void save_run(const std::string& path, TrainingRun& run);

// Restores into a new run everything save_run wrote, of any number of ranks. Called by the writer; what it returns is
// for spread() (train/distributed/sharded_state.h), where there are other ranks. Refuses a checkpoint of other
// policies, one whose configuration differs in anything that the numbers depend on, naming the first difference
// (Exit::usage), and one made on other data (Exit::bad_input; engine/data/same_data.h).
std::vector<OptimizerState> resume(const std::string& path, TrainingRun& run);

}  // namespace sink
