// What the environments of launchers say.
#include "engine/comm/rank_place.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "engine/check.h"

namespace sink {
namespace {

using Environment = std::map<std::string, const char*>;

RankPlace place_in(const Environment& environment) {
  return rank_place([&](const char* name) {
    auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  });
}

std::string refusal(const Environment& environment) {
  try {
    place_in(environment);
  } catch (const Error& error) {
    CHECK(error.code == Exit::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("without a launcher there is one rank") {
  CHECK(place_in({}).size == 1);
  CHECK(place_in({{"MASTER_PORT", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).size == 1);  // a job's script
  CHECK(place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).launcher.empty());
}

TEST_CASE("torchrun's variables say all") {
  Environment environment{{"RANK", "3"},        {"WORLD_SIZE", "8"},      {"LOCAL_RANK", "1"},
                          {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29400"}, {"TORCHELASTIC_RUN_ID", "x"}};
  RankPlace place = place_in(environment);
  CHECK(place.rank == 3);
  CHECK(place.size == 8);
  CHECK(place.local_rank == 1);
  CHECK(place.address == "a");
  CHECK(place.port == 29400);
  CHECK(place.token == "x");
  CHECK(place.launcher == "torchrun's variables");
  environment["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  environment["SINKLAB_TOKEN"] = "y";
  CHECK(place_in(environment).port == 29401);
  CHECK(place_in(environment).token == "y");
  environment["SLURM_PROCID"] = "0", environment["SLURM_NTASKS"] = "2", environment["SLURM_STEP_ID"] = "0";
  CHECK(place_in(environment).rank == 3);
}

TEST_CASE("mpirun on one host needs no address, and ranks of one job come to one port") {
  Environment environment{{"OMPI_COMM_WORLD_RANK", "1"},
                          {"OMPI_COMM_WORLD_SIZE", "2"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                          {"PMIX_NAMESPACE", "1234"}};
  RankPlace place = place_in(environment);
  CHECK(place.rank == 1);
  CHECK(place.address == "127.0.0.1");
  environment["OMPI_COMM_WORLD_RANK"] = "0";
  CHECK(place_in(environment).port == place.port);
  environment["PMIX_NAMESPACE"] = "1235";
  CHECK(place_in(environment).port != place.port);
  CHECK(place_in(environment).token != place.token);
  environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  CHECK(refusal(environment).find("set MASTER_ADDR") != std::string::npos);
}

TEST_CASE("a program whose processes share out jobs is no rank of its launcher, and keeps to its GPU") {
  ::setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
  CHECK_THROWS_AS(rank_place(), Error);  // ranks of several hosts would have to meet
  CHECK(be_alone() == 8);
  CHECK(rank_place().size == 1);
  CHECK(rank_place().rank == 0);
  CHECK(rank_place().local_rank == 1);
  CHECK(rank_place().launcher.empty());
  CHECK(be_alone() == 8);
  CHECK(rank_place().local_rank == 1);
}

TEST_CASE("srun: the first host of the job, and another token for every step and restart") {
  Environment environment{{"SLURM_PROCID", "2"},  {"SLURM_NTASKS", "4"},  {"SLURM_LOCALID", "0"},
                          {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "77"}, {"SLURM_JOB_NODELIST", "gpu[012-015,20]"}};
  RankPlace place = place_in(environment);
  CHECK(place.rank == 2);
  CHECK(place.address == "gpu012");
  CHECK(place.launcher == "srun");
  environment["SLURM_RESTART_COUNT"] = "1";
  CHECK(place_in(environment).token != place.token);
}

TEST_CASE("the first host of a list of nodes") {
  CHECK(first_host("a") == "a");
  CHECK(first_host("a,b[1-2]") == "a");
  CHECK(first_host("node[1-3,7],other") == "node1");
  CHECK(first_host("rack[2,4]-node,x") == "rack2-node");
  CHECK(first_host("broken[1-") == "broken[1-");
}

TEST_CASE("what makes no sense is refused by name") {
  CHECK(refusal({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}}).find("RANK") != std::string::npos);
  CHECK(refusal({{"RANK", "x"}, {"WORLD_SIZE", "4"}}).find("\"x\"") != std::string::npos);
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "99999"}})
            .find("MASTER_PORT") != std::string::npos);
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}).find("MASTER_ADDR") != std::string::npos);
}

}  // namespace sink
