// The replay check (--replay-check N): before every N-th step the first micro-batch is loaded and computed twice,
// forward and backward. Loss and gradients must have the same bits. Other bits mean that the machine, or the code, is
// faulty: silent data corruption, which no checksum of a file sees (Hochschild et al. 2021, "Cores that don't count").
#pragma once

#include <optional>
#include <string>

#include "train/training_run.h"

namespace sink {

// Computes the first micro-batch of this process's next step twice; parameters and optimizer state stay. `second` acts
// on the second pass, for tests. Returns what differs: "the loss is 4.1 and 4.2", "12 of 5680 gradient elements differ,
// the first in final_norm.gain"; none if all bits are the same.
std::optional<std::string> replay_difference(TrainingRun& run, ForwardHooks& second = ForwardHooks::none());

// Throws Error (Exit::device) if the bits differ, on every rank if they do on one. All ranks call this together.
void require_same_replay(TrainingRun& run, DistributedStrategy& strategy);

}  // namespace sink
