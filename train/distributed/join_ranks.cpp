#include "train/distributed/join_ranks.h"

#include <chrono>
#include <csignal>
#include <cstdio>

#include "engine/comm/host_communicator.h"
#include "engine/comm/launcher.h"
#include "engine/comm/mpi_library.h"
#include "engine/io/build_info.h"
#include "engine/io/printable.h"
#include "train/interrupt.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

// For links that wait: where one rank has ended, mpirun ends the others by SIGTERM. They print where the run stood.
Links::Waiting report_lost_rank(const Communicator& ranks) {
  using WaitClock = std::chrono::steady_clock;
  return [&ranks, told = WaitClock::time_point(), reported = false](const TransferName& name,
                                                                    const std::vector<int>& others) mutable {
    if (reported || stop_requested() != SIGTERM) return;
    if (told == WaitClock::time_point()) told = WaitClock::now();
    if (std::chrono::duration<double>(WaitClock::now() - told).count() < kPeerLossGraceSeconds) return;
    reported = true;
    std::fprintf(stderr,
                 "rank %d of %d has SIGTERM in step %lld and waits in %s for %s; if that has ended, --resume auto "
                 "continues from "
                 "the last checkpoint\n",
                 ranks.rank(), ranks.size(), static_cast<long long>(ranks.step()), name.str().c_str(),
                 text_of_ranks(others).c_str());
  };
}

// What must be alike on all ranks: a line for each setting.
std::string settings_of(const RunConfig& config, const Ablation& ablation) {
  return "ablation = " + ablation.name + "\npolicies = " + ablation.policies + "\ncommit = " + build_commit() +
         "\nzero = " + std::to_string(config.zero) + "\n" + to_toml(config);
}

std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t begin = 0;
  while (begin < a.size() && begin < b.size() && a[begin] == b[begin]) ++begin;
  begin = a.rfind('\n', begin > 0 ? begin - 1 : 0);
  begin = begin == std::string::npos ? 0 : begin + 1;
  auto line = [begin](const std::string& text) {
    return begin < text.size() ? text.substr(begin, text.find('\n', begin) - begin) : std::string("nothing");
  };
  return line(b) + " instead of " + line(a);
}

void require_alike(Communicator& ranks, const std::string& own) {
  const std::vector<std::string> all = ranks.exchange(own);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      fail("ranks",
           "rank " + std::to_string(rank) +
               " was started with other settings than rank 0: " + first_difference(all[0], all[rank]),
           Exit::usage);
}

std::unique_ptr<Links> links_of(const RunConfig& config, const LaunchedProcess& launched) {
  std::unique_ptr<Links> links = mpi_links(static_cast<double>(config.comm_timeout));
  if (links->size() != launched.size)
    fail("ranks",
         launched.launcher + " has started " + std::to_string(launched.size) + " processes, of which MPI finds " +
             std::to_string(links->size()) + ": start them by the mpirun of this MPI, or by srun --mpi=pmix",
         Exit::usage);
  use_local_rank(links->local_rank());
  return links;
}

}  // namespace

bool starts_ranks(const RunConfig& config) { return config.nproc > 1 && launched_process().size == 1; }

std::unique_ptr<Links> begin_mpi(const RunConfig& config) {
  const LaunchedProcess launched = launched_process();
  if (config.nproc > 0 && launched.size > 1 && launched.size != config.nproc)
    fail("ranks",
         "--nproc " + std::to_string(config.nproc) + " asks for ranks that are started here, but " + launched.launcher +
             " has started " + std::to_string(launched.size),
         Exit::usage);
  if (launched.size == 1) return nullptr;
  require_ranks_divide(config, launched.size);
  return links_of(config, launched);
}

std::unique_ptr<Communicator> join_ranks(const RunConfig& config, const Ablation& ablation,
                                         std::unique_ptr<Links> made) {
  if (!made) return make_single_process();
  Links& links = *made;
  auto host = std::make_unique<HostCommunicator>(std::move(made));
  require_alike(*host, settings_of(config, ablation));
  std::unique_ptr<Communicator> ranks;
  if (config.device == "cpu")
    ranks = std::move(host);
  else
    ranks = device_communicator(std::move(host), static_cast<double>(config.comm_timeout));
  links.while_waiting(report_lost_rank(*ranks));
  return ranks;
}

void require_alike_data(Communicator& ranks, const DataSource& data) {
  if (ranks.is_single_process()) return;
  const std::vector<std::string> all = ranks.exchange(data.checksum() + " " + data.parts());
  const auto checksum_of = [](const std::string& of_rank) { return of_rank.substr(0, of_rank.find(' ')); };
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      fail("ranks",
           "rank " + std::to_string(rank) + " has read other data than rank 0: " +
               (checksum_of(all[rank]) == checksum_of(all[0])
                    ? "its text has other domains"
                    : "the SHA-256 of its tokens is " + printable(all[rank].substr(0, 12)) + " instead of " +
                          printable(all[0].substr(0, 12))) +
               "; give all nodes the same --data",
           Exit::bad_input);
}

}  // namespace sink
