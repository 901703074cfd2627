// NCCL's calls, which a mock answers: what becomes of the others when a rank is lost or does something else.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "engine/comm/host_communicator.h"
#include "engine/comm/nccl/nccl_communicator.h"
#include "tests/support/check_refused.h"
#include "tests/support/forked_ranks.h"

namespace sink {
namespace {

std::unique_ptr<Communicator> on_devices(const RankPlace& place, double time_out = 20) {
  return device_communicator(std::make_unique<HostCommunicator>(std::make_unique<SocketLinks>(place, 20)), time_out);
}

// What `work` says when it fails as a rank that has lost another does, and after how long.
std::pair<std::string, double> said_at_loss(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  std::string said;
  try {
    work();
  } catch (const RankLost& lost) { said = lost.what(); }
  return {said, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

}  // namespace

TEST_CASE("device ranks: the end of a rank is an error of NCCL, and the others do not wait for it") {
  CHECK(in_ranks(3, [](const RankPlace& place) {
          auto ranks = on_devices(place);
          Tensor x = Tensor::full({3000}, 1, DType::F32, Device::cuda);
          ranks->all_gather(x);
          ranks->wait();
          if (place.rank == 1) ::raise(SIGKILL);
          auto [said, seconds] = said_at_loss([&] {
            ranks->all_gather(x);
            ranks->wait();
            ranks->exchange("still here");
          });
          return expect(said.find("NCCL: remote process exited") != std::string::npos ||
                            said.find("has ended") != std::string::npos,
                        said) &&
                         expect(seconds < 5, "in time")
                     ? 0
                     : 1;
        }) == std::vector<int>{0, 128 + SIGKILL, 0});
}

TEST_CASE("device ranks: one that never comes to a collective is given up after the time-out, and what waits goes on") {
  CHECK(in_ranks(2, [](const RankPlace& place) {
          auto ranks = on_devices(place, /*time_out=*/1);
          if (place.rank == 1) {
            std::this_thread::sleep_for(std::chrono::seconds(3));
            return 0;
          }
          Tensor x = Tensor::full({64}, 1, DType::F32, Device::cuda);
          auto [said, seconds] = said_at_loss([&] {
            ranks->all_gather(x);
            ranks->wait();
            x.to(Device::cpu);  // comes back when NCCL is aborted
            ranks->wait();
          });
          return expect(said.find("waited 1 s in all_gather 1, which is not done") != std::string::npos, said) &&
                         expect(seconds > 0.9 && seconds < 2.5, "in time")
                     ? 0
                     : 1;
        }) == std::vector<int>{0, 0});
}

TEST_CASE("device ranks: an abort after wait() has returned is an error of the next wait(), though a copy succeeds") {
  CHECK(in_ranks(2, [](const RankPlace& place) {
          auto ranks = on_devices(place, /*time_out=*/1);
          if (place.rank == 1) {
            std::this_thread::sleep_for(std::chrono::seconds(3));
            return 0;
          }
          Tensor x = Tensor::full({64}, 1, DType::F32, Device::cuda);
          ranks->all_gather(x);
          ranks->wait();  // does not wait on the host
          x.to(Device::cpu);
          std::this_thread::sleep_for(std::chrono::milliseconds(1300));  // the abort is over, and nothing is underway
          const std::string said = said_at_loss([&] { ranks->wait(); }).first;
          return expect(said.find("waited 1 s in all_gather 1") != std::string::npos, said) ? 0 : 1;
        }) == std::vector<int>{0, 0});
}

TEST_CASE("device ranks: a rank that throws while NCCL is idle leaves at once, while another waits in an exchange") {
  CHECK(in_ranks(2, [](const RankPlace& place) {
          auto ranks = on_devices(place);
          Tensor x = Tensor::full({64}, 1, DType::F32, Device::cuda);
          ranks->all_gather(x);
          ranks->wait();
          x.to(Device::cpu);
          if (place.rank == 0) throw Error("no space left on the disk");
          auto [said, seconds] = said_at_loss([&] { ranks->exchange("the next step"); });
          return expect(said.find("rank 0 has ended") != std::string::npos, said) && expect(seconds < 5, "in time") ? 0
                                                                                                                    : 1;
        }) == std::vector<int>{99, 0});
}

TEST_CASE("device ranks: one that stands still holds up neither the abort of another nor its end") {
  CHECK(in_ranks(2, [](const RankPlace& place) {
          auto ranks = on_devices(place, /*time_out=*/1);
          const pid_t other = std::stoi(ranks->exchange(std::to_string(::getpid())).back());
          Tensor x = Tensor::full({64}, 1, DType::F32, Device::cuda);
          ranks->all_gather(x);
          ranks->wait();
          x.to(Device::cpu);
          if (place.rank == 1) ::raise(SIGSTOP);
          std::thread([other] {  // a hang ends, too
            std::this_thread::sleep_for(std::chrono::seconds(10));
            ::kill(other, SIGKILL);
          })
              .detach();
          auto [said, seconds] = said_at_loss([&] {
            std::unique_ptr<Communicator> own = std::move(ranks);
            own->all_gather(x);
            own->wait();
            x.to(Device::cpu);
            own->wait();
          });
          ::kill(other, SIGKILL);
          return expect(said.find("waited 1 s in all_gather 2") != std::string::npos, said) &&
                         expect(seconds < 5, "in time")
                     ? 0
                     : 1;
        }) == std::vector<int>{0, 128 + SIGKILL});
}

TEST_CASE("NCCL's handle: neither an abort nor a close waits longer than its limit for a rank that stays") {
  CHECK(in_ranks(1, [](const RankPlace&) {
          ::alarm(20);  // ends a hang
          ncclUniqueId id;
          ncclGetUniqueId(&id);
          NcclHandle aborted, closed, stays;
          int rank = 0;
          for (NcclHandle* handle : {&aborted, &closed, &stays})
            if (handle->init(3, id, rank++) != ncclInProgress) return 1;
          for (NcclHandle* handle : {&aborted, &closed, &stays})
            while (handle->state() == ncclInProgress) {}
          const double limit = NcclHandle::kAbortSeconds;
          const double abort = said_at_loss([&] { aborted.abort(); }).second;
          const double close = said_at_loss([&] { closed.close(0.3); }).second;
          const double last = said_at_loss([&] { stays.close(20); }).second;
          return expect(abort > 0.9 * limit && abort < limit + 2, "the abort waits " + std::to_string(abort) + " s") &&
                         expect(close > 0.25 && close < 2.3, "the close waits " + std::to_string(close) + " s") &&
                         expect(last < 5, "the others have left; the last one waits " + std::to_string(last) + " s")
                     ? 0
                     : 2;
        }) == std::vector<int>{0});
}

// Rank 1 says what it has to say to come so far.
bool leaves_before_nccl(const RankPlace& place, const std::function<void()>& leave) {
  if (place.rank == 0) return false;
  HostCommunicator host(std::make_unique<SocketLinks>(place, 20));
  host.exchange("a GPU of its own");
  host.exchange("");  // and has NCCL's id
  leave();
  return true;
}

TEST_CASE("device ranks: one that is killed, or never comes, while NCCL begins is given up after the time-out") {
  CHECK(in_ranks(2, [](const RankPlace& place) {
          if (leaves_before_nccl(place, [] { ::raise(SIGKILL); })) return 0;
          auto [said, seconds] = said_at_loss([&] { on_devices(place, /*time_out=*/1); });
          return expect(said.find("waited 1 s in ncclCommInitRankConfig") != std::string::npos, said) &&
                         expect(seconds < 2.5, "in time")
                     ? 0
                     : 1;
        }) == std::vector<int>{0, 128 + SIGKILL});
  CHECK(in_ranks(2, [](const RankPlace& place) {
          if (leaves_before_nccl(place, [] { std::this_thread::sleep_for(std::chrono::seconds(3)); })) return 0;
          auto [said, seconds] = said_at_loss([&] { on_devices(place, /*time_out=*/1); });
          return expect(said.find("rank 0 of 2 waited 1 s in ncclCommInitRankConfig") != std::string::npos, said) &&
                         expect(seconds > 0.9 && seconds < 2.5, "in time")
                     ? 0
                     : 1;
        }) == std::vector<int>{0, 0});
}

TEST_CASE("NCCL's handle: calls of two threads come one at a time, and none behind an abort (else SIGABRT)") {
  CHECK(in_ranks(1, [](const RankPlace&) {
          for (int round = 0; round < 200; ++round) {
            ncclUniqueId id;
            ncclGetUniqueId(&id);
            NcclHandle handle;
            if (handle.init(1, id, 0) != ncclInProgress) return 1;
            std::thread other([&] {
              while (handle.state() != ncclRemoteError) {}
            });
            while (handle.state() == ncclInProgress) {}
            handle.abort();
            other.join();
            handle.abort();
            handle.close(1);
            if (!expect(handle.call([](ncclComm_t) { return ncclSuccess; }) == ncclRemoteError, "nothing is called"))
              return 2;
          }
          return 0;
        }) == std::vector<int>{0});
}

TEST_CASE("device ranks: collectives in another order are an error of NCCL, not wrong numbers") {
  CHECK(in_ranks(2, [](const RankPlace& place) {
          auto ranks = on_devices(place);
          Tensor x = Tensor::full({64}, 1, DType::F32, Device::cuda),
                 y = Tensor::full({32}, 1, DType::F32, Device::cuda);
          auto [said, seconds] = said_at_loss([&] {
            ranks->all_gather(place.rank == 0 ? x : y);
            ranks->all_gather(place.rank == 0 ? y : x);
            ranks->wait();
            x.to(Device::cpu);
            ranks->wait();
          });
          return expect(!said.empty(), "it failed") && expect(seconds < 10, "in time") ? 0 : 1;
        }) == std::vector<int>{0, 0});
}

TEST_CASE("NCCL's mock: a send without its receive in one group waits for ever, until it is aborted") {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  ncclComm_t comms[2];
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  for (int rank = 0; rank < 2; ++rank)
    CHECK(ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config) == ncclInProgress);
  for (ncclComm_t comm : comms)
    for (ncclResult_t state = ncclInProgress; state == ncclInProgress;)
      CHECK(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
  cudaStream_t stream;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  Tensor x = Tensor::full({8}, 1, DType::F32, Device::cuda);
  cudaEvent_t done;
  REQUIRE(cudaEventCreateWithFlags(&done, cudaEventDisableTiming) == cudaSuccess);
  CHECK(ncclRecv(x.device_data<float>(), 8, ncclFloat32, 1, comms[0], stream) == ncclSuccess);
  CHECK(ncclRecv(x.device_data<float>(), 8, ncclFloat32, 9, comms[0], stream) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  CHECK(cudaEventRecord(done, stream) == cudaSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(cudaEventQuery(done) == cudaErrorNotReady);
  CHECK(cudaStreamWaitEvent(nullptr, done) == cudaSuccess);  // queued
  CHECK(cudaEventQuery(done) == cudaErrorNotReady);
  std::atomic<bool> aborted = false;
  std::thread other([&] {
    CHECK(ncclCommAbort(comms[0]) == ncclSuccess);
    aborted = true;
  });
  CHECK(x.to(Device::cpu).size() == 8);  // comes back
  CHECK(cudaEventQuery(done) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK_FALSE(aborted);  // before the other has left
  CHECK(ncclCommDestroy(comms[1]) == ncclSuccess);
  other.join();
  CHECK(aborted);
}

TEST_CASE("NCCL's library: a missing one, and one without NCCL's functions, are one sentence") {
  check_refused([] { load_nccl("libno_such_nccl.so.2"); },
                {"several ranks on GPUs need", "libno_such_nccl.so.2", "one GPU does not need it"}, Exit::device);
  check_refused([] { load_nccl("libm.so.6"); }, {"ncclGetErrorString"}, Exit::device);
}

TEST_CASE("device ranks: without NCCL every rank reports it before it waits for another") {
  CHECK(in_ranks(2, [](const RankPlace& place) {
          ::setenv("SINK_NCCL", "libno_such_nccl.so.2", 1);
          std::string said;
          try {
            on_devices(place);
          } catch (const Error& error) { said = error.what(); }
          return expect(said.find("NCCL, which several ranks on GPUs need, cannot be loaded") != std::string::npos,
                        said)
                     ? 0
                     : 1;
        }) == std::vector<int>{0, 0});
}

}  // namespace sink
