// Gathers the optimizer's state of all ranks for the writer to save, and scatters it when a run resumes. All ranks call
// these functions together.
#pragma once

#include <vector>

#include "train/training_run.h"

namespace sink {

// Returns the optimizer's state by name in host memory, for the writer to save; nothing on other ranks. Transfers one
// bucket at a time.
std::vector<OptimizerState> gather_optimizer_state(TrainingRun& run);

// Returns tensors by name, into which the writer reads a checkpoint before scatter_state() sends them to the ranks.
std::vector<OptimizerState> state_to_restore(TrainingRun& run);

// Sends the writer's RunState and parameters to all ranks, and `state` (the writer's, from state_to_restore()) to the
// ranks that own it, if the run has taken steps.
void scatter_state(TrainingRun& run, const std::vector<OptimizerState>& state);

}  // namespace sink
