// Collectives by MPI, in ranks that this test starts of itself as --nproc does.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <set>
#include <thread>

#include "engine/comm/host_communicator.h"
#include "engine/comm/launcher.h"
#include "engine/comm/mpi_library.h"
#include "engine/comm/mpirun.h"
#include "tests/support/has_mpi.h"
#include "tests/support/rank_numbers.h"

namespace sink {
namespace {

constexpr int kRanks = 3;

// Whether this process is a rank. In the process that is none: starts ranks with this test case, and checks their code.
bool is_rank(const char* test_case, int code = 0) {
  if (launched_process().size > 1) return true;
  if (has_mpi())
    CHECK(run_mpirun(kRanks, {"mpi_links_test", "--minimal=true", std::string("--test-case=") + test_case}) == code);
  return false;
}

}  // namespace

TEST_CASE("mpi: sums in the order of ranks, gathers, broadcasts and bytes of the host") {
  if (!is_rank("mpi: sums*")) return;
  HostCommunicator ranks(mpi_links(20));
  REQUIRE(ranks.size() == kRanks);
  CHECK(ranks.rank() == launched_process().rank);
  const std::int64_t count = 3000 * kRanks;
  Tensor whole = numbers_of_rank(ranks.rank(), count), chunk = ranks.chunk_of(whole);
  Tensor x = Tensor::full({7}, ranks.rank() + 3);
  ranks.reduce_scatter(whole, chunk, /*add=*/false);
  ranks.all_gather(whole);
  ranks.broadcast(x);
  ranks.wait();
  bool right = true;
  for (std::int64_t i = 0; i < count; ++i) right &= whole.data<float>()[i] == sum_of_ranks(kRanks, i);
  CHECK(right);
  CHECK(x.item(6) == 3);
  const std::vector<std::string> all =
      ranks.exchange(std::string(static_cast<std::size_t>(ranks.rank()) * 100000, 'x'));
  CHECK(all[0].empty());
  CHECK(all[2] == std::string(200000, 'x'));
}

TEST_CASE("mpi: the ranks of a host are numbered, and a transfer that waits names those it waits for") {
  if (!is_rank("mpi: the ranks*")) return;
  std::unique_ptr<Links> links = mpi_links(20);
  CHECK(links->local_rank() == links->rank());
  std::set<std::string> said;
  links->while_waiting([&](const TransferName& name, const std::vector<int>& others) {
    said.insert(name.str() + " for " + text_of_ranks(others));
  });
  HostCommunicator ranks(std::move(links));
  std::this_thread::sleep_for(std::chrono::milliseconds(ranks.rank() * 400));
  ranks.exchange("here");
  if (ranks.rank() == 0) CHECK(said.contains("exchange 1 for rank 2"));
}

TEST_CASE("mpi: ranks at different transfers are an error") {
  if (!is_rank("mpi: ranks at*")) return;
  HostCommunicator ranks(mpi_links(20));
  Tensor x = Tensor::zeros({ranks.rank() == 0 ? 3 : 6});
  std::string said;
  try {
    ranks.all_gather(x);
    ranks.wait();
  } catch (const Error& error) { said = error.what(); }
  CHECK_MESSAGE(said.find("they do not do the same") != std::string::npos, said);
}

TEST_CASE("mpi: a rank that exits before its links end ends all, with its code") {
  if (!is_rank("mpi: a rank that exits*", 9)) return;
  HostCommunicator ranks(mpi_links(20));
  ranks.exchange("here");
  if (ranks.rank() == 1) std::exit(9);
  std::signal(SIGTERM, SIG_DFL);  // doctest would report it
  ranks.exchange("and you?");
}

}  // namespace sink
