// The launcher's environment variables (mpirun, srun) for this process. They are available before MPI_Init and in
// processes that never call it. After MPI_Init MPI's own values are used (engine/comm/mpi/).
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
// `variable` is getenv, or a test's. Throws Error (Exit::usage) if a value is not a valid rank or count.
using Variable = std::function<const char*(const char*)>;
LaunchedProcess launched_process(const Variable& variable);
LaunchedProcess launched_process();

// Removes the launcher's variables, so that this process and its children are single processes, and returns the number
// of processes that the launcher started. For programs that distribute jobs. local_rank() is kept.
int become_single_process();

// Selects the GPU of this process when the device is first used: the launcher's local rank, or MPI's, if
// use_local_rank() came before.
int& local_rank();
// After MPI_Init. Not all launchers tell a process its local rank, and MPI knows it always.
void use_local_rank(int of_mpi);
// Environment variable for ranks that this process starts: the local rank of the first one.
inline constexpr const char* kFirstLocalRank = "SINKLAB_FIRST_LOCAL_RANK";

}  // namespace sink
