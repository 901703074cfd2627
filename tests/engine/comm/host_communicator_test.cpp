// Collectives of 1 to 4 processes over a fake of MPI: sums to the bit in the order of ranks, and errors.
#include "engine/comm/host_communicator.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "tests/support/forked_ranks.h"
#include "tests/support/rank_numbers.h"

namespace sink {
namespace {

std::unique_ptr<HostCommunicator> joined(const RankPlace& place, double time_out = 20) {
  return std::make_unique<HostCommunicator>(std::make_unique<SocketLinks>(place, time_out));
}

double seconds_of(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string message_of(const std::function<void()>& work, Exit code) {
  try {
    work();
  } catch (const Error& error) {
    if (error.code == code) return error.what();
    return std::string("of another code: ") + error.what();
  }
  return "";
}

bool all_are(const std::vector<int>& codes, int code) {
  for (int other : codes)
    if (other != code) return false;
  return true;
}

}  // namespace

TEST_CASE("reduce_scatter sums in the order of ranks, whichever is first, and gathers back what it gave") {
  for (int size : {1, 2, 3, 4}) {
    CAPTURE(size);
    CHECK(all_are(in_ranks(size,
                           [size](const RankPlace& place) {
                             auto ranks = joined(place);
                             const std::int64_t count = 3000 * size;  // more than one block of the sum
                             Tensor whole = numbers_of_rank(place.rank, count), chunk = ranks->chunk_of(whole),
                                    apart = Tensor::full({3000}, 5);
                             ranks->reduce_scatter(whole, apart, /*add=*/true);
                             ranks->reduce_scatter(whole, chunk, /*add=*/false);
                             ranks->all_gather(whole);
                             ranks->wait();
                             bool right = true;
                             for (std::int64_t i = 0; i < count; ++i)
                               right &= whole.data<float>()[i] == sum_of_ranks(size, i);
                             for (std::int64_t i = 0; i < 3000; ++i)
                               right &=
                                   apart.data<float>()[i] == sum_of_ranks(size, place.rank * 3000 + i, /*first=*/5);
                             return expect(right, "sums in order") ? 0 : 1;
                           }),
                  0));
  }
  // The test would see another order.
  int differ = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    float backwards = number_of_rank(3, i);
    for (int rank : {2, 1, 0}) backwards += number_of_rank(rank, i);
    differ += backwards != sum_of_ranks(4, i);
  }
  CHECK(differ > 5);
}

TEST_CASE("bytes of any length and tensors of rank 0 come to all; bytes that went out are counted") {
  CHECK(all_are(in_ranks(3,
                         [](const RankPlace& place) {
                           auto ranks = joined(place);
                           std::vector<std::string> all =
                               ranks->exchange(std::string(static_cast<std::size_t>(place.rank) * 100000, 'x'));
                           Tensor x = Tensor::full({1000}, place.rank + 7);
                           ranks->broadcast(x);
                           ranks->wait();
                           Tensor whole = Tensor::zeros({300}, DType::F64);
                           ranks->all_gather(whole);
                           ranks->wait();
                           const double sent = (place.rank == 0 ? 2 * 4000 : 0) + 2 * 800;
                           return expect(
                                      all[0].empty() && all[1].size() == 100000 && all[2] == std::string(200000, 'x'),
                                      "exchange") &&
                                          expect(x.item(999) == 7, "broadcast") &&
                                          expect(ranks->traffic().bytes_sent == sent, "traffic")
                                      ? 0
                                      : 1;
                         }),
                0));
}

TEST_CASE("a rank that ends is an error of the collective that waits for it, and of every later call") {
  CHECK(in_ranks(3, [](const RankPlace& place) {
          auto ranks = joined(place);
          ranks->exchange("here");
          if (place.rank == 2) ::raise(SIGKILL);
          std::string first, second;
          const double seconds = seconds_of([&] {
            first = message_of([&] { ranks->exchange("and you?"); }, Exit::device);
            second = message_of([&] { ranks->exchange("once more"); }, Exit::device);
          });
          return expect(first.find("has ended") != std::string::npos && first == second, first) &&
                         expect(seconds < 5, "in time")
                     ? 0
                     : 1;
        }) == std::vector<int>{0, 0, 128 + SIGKILL});
}

TEST_CASE("while a collective waits it reports for which ranks") {
  CHECK(in_ranks(3, [](const RankPlace& place) {
          auto links = std::make_unique<SocketLinks>(place, 20);
          Links& waiting = *links;
          HostCommunicator ranks(std::move(links));
          std::set<std::string> said;
          waiting.while_waiting([&](const TransferName& name, const std::vector<int>& others) {
            said.insert(name.str() + " for " + text_of_ranks(others));
          });
          if (place.rank > 0) std::this_thread::sleep_for(std::chrono::milliseconds(place.rank * 400));
          ranks.exchange("here");
          if (place.rank == 0) return expect(said.contains("exchange 1 for rank 2"), "named") ? 0 : 1;
          return 0;
        }) == std::vector<int>{0, 0, 0});
  CHECK(text_of_ranks({1, 2}) == "ranks 1, 2");
}

TEST_CASE("a rank that does nothing is waited for as long as was said, and named") {
  CHECK(in_ranks(2, [](const RankPlace& place) {
          auto ranks = joined(place, /*time_out=*/1);
          if (place.rank == 1) {
            std::this_thread::sleep_for(std::chrono::seconds(3));
            return 0;
          }
          std::string said;
          double seconds = seconds_of([&] { said = message_of([&] { ranks->exchange("?"); }, Exit::device); });
          return expect(said.find("waited 1 s in exchange 1 for rank 1") != std::string::npos, said.c_str()) &&
                         expect(seconds > 0.9 && seconds < 2, "in time")
                     ? 0
                     : 1;
        }) == std::vector<int>{0, 0});
}

TEST_CASE("ranks that do not do the same are told so") {
  CHECK(in_ranks(2, [](const RankPlace& place) {
          auto ranks = joined(place);
          Tensor x = Tensor::zeros({place.rank == 0 ? 8 : 16});
          std::string said = message_of(
              [&] {
                ranks->all_gather(x);
                ranks->wait();
              },
              Exit::failure);
          // The one that finds out first leaves, and the other may see no more than that.
          return said.find("do not do the same") != std::string::npos || said.find("has ended") != std::string::npos
                     ? 0
                     : 1;
        }) == std::vector<int>{0, 0});
}

}  // namespace sink
