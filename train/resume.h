// Saving a run and resuming it, bit for bit.
#pragma once

#include "engine/io/checkpoint.h"
#include "train/training_run.h"

namespace sink {

// The parameters of the model and its description: enough to evaluate the model, not to resume the run.
Checkpoint parameters_of(TrainingRun& run);
// Saves the parameters and the optimizer's state. The writer writes the file; all ranks call this.
void save_run(const std::string& path, TrainingRun& run);

// Restores everything that save_run wrote, with any number of ranks, into a new run. Only the writer calls this; it
// passes the returned state to scatter_state() (train/distributed/sharded_state.h) if there are other ranks. Throws
// Error: Exit::usage for a checkpoint of other policies or of a configuration that gives other results, naming the
// first difference; Exit::bad_input for one made on other data (engine/data/same_data.h).
std::vector<OptimizerState> resume(const std::string& path, TrainingRun& run);

}  // namespace sink
