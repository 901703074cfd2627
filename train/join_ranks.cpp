#include "train/join_ranks.h"

#include <unistd.h>

#include <cstdio>
#include <thread>

#include "engine/comm/device_communicator.h"
#include "engine/comm/mpi_library.h"
#include "engine/comm/rank_place.h"
#include "engine/comm/tcp_links.h"
#include "engine/io/build_info.h"
#include "engine/io/printable.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

// Called by the communicator's thread. The computation between two collectives may be long, or never end: this rank
// leaves without it.
void leave_soon(const std::exception_ptr& loss, const TransferName& last, std::int64_t step) {
  std::thread([loss, last, step] {
    std::this_thread::sleep_for(std::chrono::duration<double>(kMourning));
    int code = static_cast<int>(Exit::device);
    try {
      std::rethrow_exception(loss);
    } catch (const Error& error) {
      std::fprintf(stderr,
                   "error: %s; this rank was computing in step %lld, behind %s, and still is %.0f s later: it leaves\n",
                   printable(error.what()).c_str(), static_cast<long long>(step), last.str().c_str(), kMourning);
      code = static_cast<int>(error.code);
    } catch (...) {}
    ::_exit(code);
  }).detach();
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

std::unique_ptr<Links> links_of(const RunConfig& config, const RankPlace& place) {
  const auto time_out = static_cast<double>(config.comm_timeout);
  const bool by_mpi =
      config.comm == "mpi" || (config.comm == "auto" && place.launcher == "mpirun" && has_mpi_library());
  if (!by_mpi) return std::make_unique<TcpLinks>(place, time_out);
  std::unique_ptr<Links> links = mpi_links(time_out);
  if (links->rank() != place.rank || links->size() != place.size)
    fail("ranks",
         "to " + place.launcher + " this is rank " + std::to_string(place.rank) + " of " + std::to_string(place.size) +
             ", to MPI rank " + std::to_string(links->rank()) + " of " + std::to_string(links->size()) +
             ": MPI did not start it; take --comm tcp",
         Exit::usage);
  return links;
}

}  // namespace

bool starts_ranks(const RunConfig& config) { return config.nproc > 1 && rank_place().size == 1; }

std::unique_ptr<Communicator> join_ranks(const RunConfig& config, const Ablation& ablation) {
  const RankPlace place = rank_place();
  if (config.nproc > 0 && place.size > 1 && place.size != config.nproc)
    fail("ranks",
         "--nproc " + std::to_string(config.nproc) + " asks for ranks that are started here, but " + place.launcher +
             " has started " + std::to_string(place.size),
         Exit::usage);
  if (place.size == 1) return no_other_rank();
  require_ranks_divide(config, place.size);
  auto ranks = std::make_unique<HostCommunicator>(links_of(config, place));
  require_alike(*ranks, settings_of(config, ablation));
  if (config.device == "cpu") {
    const Communicator& known = *ranks;
    ranks->on_loss(
        [&known](const std::exception_ptr& loss, const TransferName& last) { leave_soon(loss, last, known.step()); });
    return ranks;
  }
  return device_communicator(std::move(ranks), static_cast<double>(config.comm_timeout));
}

}  // namespace sink
