#include "engine/comm/rank_place.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "engine/check.h"

namespace sink {
namespace {

constexpr int kUsualPort = 29500, kFirstOfJobs = 20000, kPortsOfJobs = 12000;  // below those that a system gives away

std::string text(const Variable& variable, const char* name) {
  const char* value = variable(name);
  return value ? value : "";
}

bool has(const Variable& variable, const char* name) { return !text(variable, name).empty(); }

int number(const Variable& variable, const char* name, int least, int most) {
  std::string value = text(variable, name);
  int number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least || number > most)
    fail("ranks",
         std::string("the environment's ") + name + " is expected to be a number from " + std::to_string(least) +
             " to " + std::to_string(most) + ", got \"" + value + "\"",
         Exit::usage);
  return number;
}

// A port and a token that all processes of one job come to by themselves.
int port_of_job(const std::string& job) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return kFirstOfJobs + static_cast<int>(hash % kPortsOfJobs);
}

struct Names {
  const char *launcher, *rank, *size, *local_rank, *job, *local_size;
};
constexpr Names kLaunchers[] = {
    {"torchrun's variables", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID", "LOCAL_WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_ID", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID", ""},
};

// SLURM_NTASKS is there in the script of a job, too, which is no rank of it: srun alone sets SLURM_STEP_ID.
bool is_started_by(const Names& names, const Variable& variable) {
  if (!has(variable, names.rank) || !has(variable, names.size)) return false;
  return std::string(names.launcher) != "srun" || has(variable, "SLURM_STEP_ID");
}

RankPlace numbers_of(const Names& names, const Variable& variable) {
  RankPlace place;
  place.size = number(variable, names.size, 1, 1 << 16);
  place.rank = number(variable, names.rank, 0, place.size - 1);
  if (has(variable, names.local_rank)) place.local_rank = number(variable, names.local_rank, 0, 1 << 16);
  return place;
}

// Where the ranks meet, of which the launcher's own variables say nothing.
void find_meeting_place(const Names& names, const Variable& variable, RankPlace& place) {
  const std::string launcher = names.launcher;
  const bool one_host = has(variable, names.local_size) && number(variable, names.local_size, 1, 1 << 20) == place.size;
  if (has(variable, "MASTER_ADDR"))
    place.address = text(variable, "MASTER_ADDR");
  else if (launcher == "srun" && has(variable, "SLURM_JOB_NODELIST"))
    place.address = first_host(text(variable, "SLURM_JOB_NODELIST"));
  else if (!one_host)
    fail("ranks",
         "started by " + launcher + " as one of " + std::to_string(place.size) +
             " ranks, but nothing says where rank 0 is: set MASTER_ADDR to its host",
         Exit::usage);
  if (has(variable, "MASTER_PORT")) {
    place.port = number(variable, "MASTER_PORT", 1, 65535);
    // There torchrun itself listens.
    if (text(variable, "TORCHELASTIC_USE_AGENT_STORE") == "True") place.port = place.port % 65535 + 1;
  } else {
    place.port = has(variable, names.job) ? port_of_job(text(variable, names.job)) : kUsualPort;
  }
  place.token = text(variable, has(variable, "SINKLAB_TOKEN") ? "SINKLAB_TOKEN" : names.job);
  // A restarted step or a second srun of one job is another run.
  if (launcher == "srun" && !has(variable, "SINKLAB_TOKEN"))
    for (const char* part : {"SLURM_STEP_ID", "SLURM_RESTART_COUNT"})
      place.token.append(".").append(text(variable, part));
}

}  // namespace

std::string first_host(const std::string& node_list) {
  std::size_t bracket = node_list.find('['), comma = node_list.find(',');
  if (bracket == std::string::npos || comma < bracket) return node_list.substr(0, comma);
  std::size_t close = node_list.find(']', bracket), end = node_list.find_first_of("-,]", bracket + 1);
  if (close == std::string::npos) return node_list.substr(0, comma);
  std::size_t after = node_list.find(',', close);
  return node_list.substr(0, bracket) + node_list.substr(bracket + 1, end - bracket - 1) +
         node_list.substr(close + 1, after == std::string::npos ? after : after - close - 1);
}

RankPlace rank_place(const Variable& variable) {
  RankPlace place;
  if (has(variable, kAlone)) {
    place.local_rank = number(variable, kAlone, 0, 1 << 16);
    return place;
  }
  for (const Names& names : kLaunchers) {
    if (!is_started_by(names, variable)) continue;
    place = numbers_of(names, variable);
    if (place.size == 1) return place;
    place.launcher = has(variable, "SINKLAB_LISTENING") ? "--nproc" : names.launcher;
    find_meeting_place(names, variable, place);
    if (place.launcher == "--nproc" && place.rank == 0)
      place.listening = number(variable, "SINKLAB_LISTENING", 3, 1 << 20);
    return place;
  }
  return place;
}

int be_alone() {
  const Variable variable = [](const char* name) { return std::getenv(name); };
  RankPlace place;
  for (const Names& names : kLaunchers)
    if (is_started_by(names, variable)) {
      place = numbers_of(names, variable);
      break;
    }
  ::setenv(kAlone, std::to_string(place.local_rank).c_str(), 1);
  return place.size;
}

RankPlace rank_place() {
  return rank_place([](const char* name) { return std::getenv(name); });
}

bool says_what_all_ranks_know() {
  const RankPlace place = rank_place();
  return place.rank == 0 && place.launcher != "--nproc";
}

}  // namespace sink
