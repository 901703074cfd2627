// The optimiser's state of all ranks, gathered where the writer saves it and scattered when a run resumes. All ranks
// call these together.
#pragma once

#include <vector>

#include "train/training_run.h"

namespace sink {

// The optimiser's state by name, in host memory, for the writer to save; nothing on other ranks. Passes on a section at
// a time.
std::vector<OptimizerState> whole_state(TrainingRun& run);

// Tensors by name into which the writer restores that state, before spread() takes them to the ranks that keep them.
std::vector<OptimizerState> room_for_state(TrainingRun& run);

// The writer's place in the run and its parameters come to all ranks, and `state`, the writer's of room_for_state(), to
// those that keep it (where the run has taken steps).
void spread(TrainingRun& run, const std::vector<OptimizerState>& state);

}  // namespace sink
