// Which rank of how many this process is, and where the ranks meet: read from what its launcher has put into the
// environment.
#pragma once

#include <functional>
#include <string>

namespace sink {

struct RankPlace {
  int rank = 0, size = 1;
  int local_rank = 0;                 // among those of this host: which of its GPUs
  std::string address = "127.0.0.1";  // of rank 0's host
  int port = 0;                       // where rank 0 listens
  int listening = -1;                 // a descriptor of rank 0 that listens there already; -1: it is opened
  std::string token;                  // that all ranks of this run know, and those of no other
  std::string launcher;  // "--nproc", "torchrun's variables", "mpirun", "srun"; empty: nobody started ranks
};

// By the first of these that is there:
//   RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT     torchrun, and --nproc (engine/comm/local_ranks.h)
//   OMPI_COMM_WORLD_RANK _SIZE _LOCAL_RANK, PMI_RANK PMI_SIZE   mpirun
//   SLURM_PROCID SLURM_NTASKS SLURM_LOCALID                srun, of more than one task
// MASTER_ADDR, MASTER_PORT and SINKLAB_TOKEN count whatever the launcher; without them Slurm's first host and the job's
// number say where. `variable` is getenv, or a test's. Throws Error (Exit::usage) where they do not make sense.
using Variable = std::function<const char*(const char*)>;
RankPlace rank_place(const Variable& variable);
RankPlace rank_place();

// From here on this process and those it starts are a run's only rank each, on the GPU of the rank that it was started
// as, whatever launcher there was; of how many it was started as one. For a program whose processes share out jobs.
inline constexpr const char* kAlone = "SINKLAB_ALONE";  // in the environment: the rank's number on its host
int be_alone();

// Whether this process is the one of a run that says what all of its ranks find out: rank 0, or who started it.
bool says_what_all_ranks_know();

// "node1" of "node[1-3,7],other", "a001" of "a[001-004]".
std::string first_host(const std::string& node_list);

}  // namespace sink
