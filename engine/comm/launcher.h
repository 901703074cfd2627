// What the environment of a launcher (mpirun, srun) says about this process. It is known before MPI begins, and in
// processes that never begin it: those that print or share out jobs. MPI itself decides (engine/comm/mpi/).
#pragma once

#include <functional>
#include <string>

namespace sink {

struct LaunchedProcess {
  int rank = 0, size = 1;
  int local_rank = 0;    // among the processes on this host
  std::string launcher;  // "mpirun", "srun"; empty: one process
};

// By the first of these that is set:
//   OMPI_COMM_WORLD_RANK _SIZE _LOCAL_RANK             mpirun of Open MPI
//   PMI_RANK PMI_SIZE MPI_LOCALRANKID                  mpirun of MPICH and Intel MPI
//   SLURM_PROCID SLURM_NTASKS SLURM_LOCALID            srun with more than one task
// `variable` is getenv, or a test's. Throws Error (Exit::usage) for values that are not numbers of ranks.
using Variable = std::function<const char*(const char*)>;
LaunchedProcess launched_process(const Variable& variable);
LaunchedProcess launched_process();

// Removes the launcher's variables, so that this process and those it starts are ranks of nothing, and returns how many
// processes the launcher has started. For a program whose processes share out jobs. local_rank() stays.
int become_single_process();

// Selects the GPU of this process. At first what the launcher's environment says; MPI sets it when it begins.
int& local_rank();
// The environment of ranks that a process starts itself: the local rank of the first one.
inline constexpr const char* kFirstLocalRank = "SINKLAB_FIRST_LOCAL_RANK";

}  // namespace sink
