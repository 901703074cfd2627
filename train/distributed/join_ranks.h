// How a training process becomes one of the ranks of its run.
#pragma once

#include <memory>

#include "engine/comm/communicator.h"
#include "train/run_config.h"

namespace sink {

// Begins MPI in a process that a launcher has started as one of several (engine/comm/launcher.h), and NCCL on GPUs.
// Throws Error: Exit::device without MPI or NCCL or where a rank does not answer in --comm-timeout seconds, Exit::usage
// where --nproc is another number, or the ranks have other settings or another program.
std::unique_ptr<Communicator> join_ranks(const RunConfig& config, const Ablation& ablation);

// Whether --nproc asks this process to start the ranks.
bool starts_ranks(const RunConfig& config);

// Seconds from the SIGTERM by which mpirun ends the ranks until a rank says which one it waits for. mpirun kills it 1 s
// after the signal (Open MPI 4) or 0.25 s after it (Open MPI 5).
inline constexpr double kPeerLossGraceSeconds = 0.1;

}  // namespace sink
