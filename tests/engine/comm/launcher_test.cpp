// What the environments of launchers say.
#include "engine/comm/launcher.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "engine/check.h"

namespace sink {
namespace {

using Environment = std::map<std::string, const char*>;

LaunchedProcess process_in(const Environment& environment) {
  return launched_process([&](const char* name) {
    auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  });
}

std::string refusal(const Environment& environment) {
  try {
    process_in(environment);
  } catch (const Error& error) {
    CHECK(error.code == Exit::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("without a launcher there is one process") {
  CHECK(process_in({}).size == 1);
  CHECK(process_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).size == 1);  // a job's script
  CHECK(process_in({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "a"}}).size == 1);
  CHECK(process_in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}).launcher.empty());
}

TEST_CASE("mpirun and srun say which process of how many this is") {
  LaunchedProcess process =
      process_in({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  CHECK(process.rank == 3);
  CHECK(process.size == 8);
  CHECK(process.local_rank == 1);
  CHECK(process.launcher == "mpirun");
  process = process_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}});
  CHECK(process.rank == 1);
  CHECK(process.size == 2);
  process = process_in({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "1"}, {"SLURM_STEP_ID", "0"}});
  CHECK(process.rank == 2);
  CHECK(process.local_rank == 1);
  CHECK(process.launcher == "srun");
}

TEST_CASE("srun --mpi=pmi2 tells the rank by PMI's variables and the local rank by its own") {
  const LaunchedProcess process = process_in({{"PMI_RANK", "5"},
                                              {"PMI_SIZE", "8"},
                                              {"SLURM_PROCID", "5"},
                                              {"SLURM_NTASKS", "8"},
                                              {"SLURM_LOCALID", "1"},
                                              {"SLURM_STEP_ID", "0"}});
  CHECK(process.rank == 5);
  CHECK(process.size == 8);
  CHECK(process.local_rank == 1);
  CHECK(
      process_in({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "2"}, {"SLURM_LOCALID", "0"}}).local_rank ==
      2);
}

TEST_CASE("a program whose processes share out jobs is no rank of its launcher, and keeps to its GPU") {
  ::setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
  ::setenv("SLURM_JOB_ID", "77", 1);
  CHECK(become_single_process() == 8);
  CHECK(launched_process().size == 1);
  CHECK(launched_process().rank == 0);
  CHECK(local_rank() == 1);
  CHECK(std::getenv("SLURM_JOB_ID") == nullptr);  // an mpirun of its own would ask Slurm for hosts
  CHECK(become_single_process() == 1);
  CHECK(local_rank() == 1);
}

TEST_CASE("MPI's local rank counts from the first local rank of this process's ranks") {
  ::setenv(kFirstLocalRank, "4", 1);
  use_local_rank(1);
  CHECK(local_rank() == 5);
  ::unsetenv(kFirstLocalRank);
  use_local_rank(1);
  CHECK(local_rank() == 1);
}

TEST_CASE("values that are no ranks are refused by name") {
  CHECK(refusal({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}).find("PMI_RANK") != std::string::npos);
  CHECK(refusal({{"PMI_RANK", "x"}, {"PMI_SIZE", "4"}}).find("\"x\"") != std::string::npos);
}

}  // namespace sink
