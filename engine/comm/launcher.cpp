#include "engine/comm/launcher.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "engine/environment_number.h"

namespace sink {
namespace {

bool has(const Variable& variable, const char* name) {
  const char* value = variable(name);
  return value && *value;
}

int number(const Variable& variable, const char* name, int least, int most) {
  return environment_number(name, variable(name), "a number", least, most);
}

struct Names {
  const char *launcher, *rank, *size, *local_rank;
};
constexpr const char* kSlurmLocalRank = "SLURM_LOCALID";  // srun --mpi=pmi2 sets it, with PMI's rank and size
constexpr Names kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", kSlurmLocalRank},
};

// The script of a Slurm job has SLURM_NTASKS, too, and is no rank of it: only srun sets SLURM_STEP_ID.
bool is_started_by(const Names& names, const Variable& variable) {
  if (!has(variable, names.rank) || !has(variable, names.size)) return false;
  return std::string_view(names.launcher) != "srun" || has(variable, "SLURM_STEP_ID");
}

const char* environment(const char* name) { return std::getenv(name); }

int first_local_rank() {
  return has(environment, kFirstLocalRank) ? number(environment, kFirstLocalRank, 0, 1 << 16) : 0;
}

}  // namespace

LaunchedProcess launched_process(const Variable& variable) {
  LaunchedProcess process;
  for (const Names& names : kLaunchers) {
    if (!is_started_by(names, variable)) continue;
    process.size = number(variable, names.size, 1, 1 << 16);
    process.rank = number(variable, names.rank, 0, process.size - 1);
    const char* local_rank = has(variable, names.local_rank) ? names.local_rank : kSlurmLocalRank;
    if (has(variable, local_rank)) process.local_rank = number(variable, local_rank, 0, 1 << 16);
    if (process.size > 1) process.launcher = names.launcher;
    break;
  }
  return process;
}

LaunchedProcess launched_process() { return launched_process(environment); }

int become_single_process() {
  local_rank();  // reads the environment before it is cleared
  const int size = launched_process().size;
  std::vector<std::string> names;
  for (char** entry = environ; *entry; ++entry)
    for (const char* prefix : {"OMPI_", "PMIX_", "PMI_", "PRTE_", "ORTE_", "HYDRA_", "MPI_LOCAL", "SLURM_"})
      if (const std::string_view text = *entry; text.starts_with(prefix))
        names.emplace_back(text.substr(0, text.find('=')));
  for (const std::string& name : names) ::unsetenv(name.c_str());
  return size;
}

int& local_rank() {
  static int rank = first_local_rank() + launched_process().local_rank;
  return rank;
}

void use_local_rank(int of_mpi) { local_rank() = first_local_rank() + of_mpi; }

}  // namespace sink
