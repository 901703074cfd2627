// The replay check (--replay-check N): before every N-th step a micro-batch is loaded and computed twice, forward and
// backward. Loss and gradients must have the same bits. Other bits mean that the machine, or the code, is faulty:
// silent data corruption, which no checksum of a file sees (Hochschild et al. 2021, "Cores that don't count").
//
// Where a run has several processes on processors of one kind, the second computation of a micro-batch is on the next
// process. So a core that always makes the same error is seen, too.
#pragma once

#include <optional>
#include <string>

#include "train/training_run.h"

namespace sink {

// Computes the first micro-batches of the next step, of this process and of the next one, and compares the second with
// what the next process got; a process without one of the same kind computes its own twice. Parameters and optimizer
// state stay. All ranks call this together. `second` acts on the second computation, for tests. Returns what differs,
// of all ranks: "ranks 1 and 2: the loss is 4.1 and 4.2"; none if all bits are the same.
std::optional<std::string> replay_difference(TrainingRun& run, ForwardHooks& second = ForwardHooks::none());

// Throws Error (Exit::device) if the bits of any rank differ. All ranks call this together.
void require_same_replay(TrainingRun& run);

}  // namespace sink
