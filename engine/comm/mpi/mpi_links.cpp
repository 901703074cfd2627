// Links by MPI: a separate library, loaded by a program that is one of the ranks of MPI (engine/comm/mpi_library.h), so
// that other programs never load MPI.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "engine/comm/links.h"

namespace sink {
namespace {

constexpr int kHeadTag = 1, kPayloadTag = 2;
constexpr std::size_t kLongestMessage = std::size_t{1} << 30;  // MPI counts in int

using MpiClock = std::chrono::steady_clock;

struct Head {
  std::uint64_t number = 0, bytes = 0;
};

void check_mpi(int error, const char* call) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  throw RankLost(std::string(call) + ": " + text);
}

// A rank that exits before MPI_Finalize would leave the others waiting, where no mpirun ends them.
void abort_unless_finalized(int code, void* owner) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized && ::getpid() == static_cast<pid_t>(reinterpret_cast<std::intptr_t>(owner)))
    MPI_Abort(MPI_COMM_WORLD, code);
}

// Sends and receives that were begun, and the rank at the other end of each.
struct Requests {
  std::vector<MPI_Request> requests;
  std::vector<int> ranks;

  MPI_Request* add(int rank) {
    ranks.push_back(rank);
    return &requests.emplace_back(MPI_REQUEST_NULL);
  }
  bool are_done() {
    std::vector<int> done(requests.size());
    int count = 0;
    check_mpi(
        MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, done.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
    return std::all_of(requests.begin(), requests.end(), [](MPI_Request one) { return one == MPI_REQUEST_NULL; });
  }
  std::vector<int> waits_for() const {
    std::vector<int> waits;
    for (std::size_t n = 0; n < requests.size(); ++n)
      if (requests[n] != MPI_REQUEST_NULL) waits.push_back(ranks[n]);
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    return waits;
  }
};

class MpiLinks : public Links {
 public:
  explicit MpiLinks(double time_out) : Links(0, 1), time_out_(time_out) {
    int level = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    ::on_exit(abort_unless_finalized, reinterpret_cast<void*>(static_cast<std::intptr_t>(::getpid())));
    if (level < MPI_THREAD_SERIALIZED)
      throw Error("this MPI cannot be called by a second thread (MPI_THREAD_SERIALIZED)", Exit::device);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm host;
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
              "MPI_Comm_split_type");
    MPI_Comm_rank(host, &local_rank_);
    MPI_Comm_free(&host);
  }

  // MPI_Finalize waits for all ranks. A rank that fails does not wait: its exit ends the others.
  ~MpiLinks() override {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }

  const char* name() const override { return "mpi"; }

  void transfer(const TransferName& name, const std::vector<Send>& sends,
                const std::vector<Receive>& receives) override {
    exchange_heads(name, sends, receives);
    Requests requests;
    for (const Receive& receive : receives)
      in_parts(receive.data, receive.bytes, [&](char* data, int count) {
        check_mpi(
            MPI_Irecv(data, count, MPI_BYTE, receive.from, kPayloadTag, MPI_COMM_WORLD, requests.add(receive.from)),
            "MPI_Irecv");
      });
    for (const Send& send : sends)
      in_parts(const_cast<void*>(send.data), send.bytes, [&](const char* data, int count) {
        check_mpi(MPI_Isend(data, count, MPI_BYTE, send.to, kPayloadTag, MPI_COMM_WORLD, requests.add(send.to)),
                  "MPI_Isend");
      });
    wait_for(requests, name);
  }

 private:
  template <class F>
  static void in_parts(void* data, std::size_t bytes, F&& f) {
    char* next = static_cast<char*>(data);
    for (; bytes > 0;) {
      const std::size_t count = std::min(bytes, kLongestMessage);
      f(next, static_cast<int>(count));
      next += count;
      bytes -= count;
    }
  }

  // What each is about to send, so that ranks that are not at the same transfer find out.
  void exchange_heads(const TransferName& name, const std::vector<Send>& sends, const std::vector<Receive>& receives) {
    Requests requests;
    std::vector<Head> out(sends.size()), in(receives.size());
    for (std::size_t n = 0; n < receives.size(); ++n)
      check_mpi(MPI_Irecv(&in[n], sizeof(Head), MPI_BYTE, receives[n].from, kHeadTag, MPI_COMM_WORLD,
                          requests.add(receives[n].from)),
                "MPI_Irecv");
    for (std::size_t n = 0; n < sends.size(); ++n) {
      out[n] = {name.number, sends[n].bytes};
      check_mpi(
          MPI_Isend(&out[n], sizeof(Head), MPI_BYTE, sends[n].to, kHeadTag, MPI_COMM_WORLD, requests.add(sends[n].to)),
          "MPI_Isend");
    }
    wait_for(requests, name);
    for (std::size_t n = 0; n < receives.size(); ++n)
      if (in[n].number != name.number || in[n].bytes != receives[n].bytes)
        throw Error("rank " + std::to_string(receives[n].from) + " is at transfer " + std::to_string(in[n].number) +
                    " of " + std::to_string(in[n].bytes) + " bytes, rank " + std::to_string(rank_) + " at " +
                    name.str() + " of " + std::to_string(receives[n].bytes) + ": they do not do the same");
  }

  // MPI makes progress when it is called; between calls this thread leaves its core to those that compute.
  void wait_for(Requests& requests, const TransferName& name) {
    const auto start = MpiClock::now();
    for (auto pause = std::chrono::microseconds(10); !requests.are_done();
         pause = std::min(pause * 2, std::chrono::microseconds(200))) {
      wait_longer(name, requests.waits_for(), std::chrono::duration<double>(MpiClock::now() - start).count(),
                  time_out_);
      std::this_thread::sleep_for(pause);
    }
  }

  double time_out_;
};

}  // namespace
}  // namespace sink

extern "C" sink::Links* sinklab_mpi_links(double time_out) { return new sink::MpiLinks(time_out); }
