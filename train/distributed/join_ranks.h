// How a training process becomes one of the ranks of its run.
#pragma once

#include <memory>

#include "engine/comm/communicator.h"
#include "engine/comm/links.h"
#include "engine/data/data_source.h"
#include "train/run_config.h"

namespace sink {

// Begins MPI in a process that a launcher has started as one of several (engine/comm/launcher.h); null in a single
// process. Comes before anything that uses the device, as MPI's local rank selects the GPU. Throws Error: Exit::device
// without MPI, Exit::usage where --nproc is another number.
std::unique_ptr<Links> begin_mpi(const RunConfig& config);

// The ranks at those links, with NCCL on GPUs. Throws Error: Exit::device without NCCL or where a rank does not answer
// in --comm-timeout seconds, Exit::usage where the ranks have other settings or another program.
std::unique_ptr<Communicator> join_ranks(const RunConfig& config, const Ablation& ablation,
                                         std::unique_ptr<Links> links);

// Throws Error (Exit::bad_input) where a rank has read other tokens than rank 0, which nodes may have under one path.
void require_alike_data(Communicator& ranks, const DataSource& data);

// Whether --nproc asks this process to start the ranks.
bool starts_ranks(const RunConfig& config);

// Seconds from the SIGTERM by which mpirun ends the ranks until a rank says which one it waits for. mpirun kills it 1 s
// after the signal (Open MPI 4) or 0.25 s after it (Open MPI 5).
inline constexpr double kPeerLossGraceSeconds = 0.1;

}  // namespace sink
