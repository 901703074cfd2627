// How a training process becomes one of the ranks of its run.
#pragma once

#include <memory>

#include "engine/comm/communicator.h"
#include "train/run_config.h"

namespace sink {

// Meets the other ranks that the launcher of this process has started (engine/comm/rank_place.h), by what --comm names.
// Throws Error: Exit::device where they do not come in --comm-timeout seconds, Exit::usage where --nproc says another
// number, or they run other settings or another program.
std::unique_ptr<Communicator> join_ranks(const RunConfig& config, const Ablation& ablation);

// Whether this process is one that --nproc has started, or stands for itself.
bool starts_ranks(const RunConfig& config);

// A rank that waits for nobody when another is lost leaves all the same, after this many seconds.
inline constexpr double kMourning = 10;

}  // namespace sink
