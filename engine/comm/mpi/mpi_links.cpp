// Links by MPI, for clusters whose MPI knows their network better than TCP does. A library of its own, which a program
// loads when it is one of MPI's ranks (engine/comm/mpi_library.h): those that are not never meet MPI.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "engine/comm/links.h"

namespace sink {
namespace {

constexpr int kHeadTag = 1, kPayloadTag = 2, kGoodbyeTag = 3;
constexpr std::size_t kLongestMessage = std::size_t{1} << 30;  // MPI counts in int
constexpr std::size_t kLongestWhy = 4096;

using MpiClock = std::chrono::steady_clock;
double seconds_after(MpiClock::time_point start) {
  return std::chrono::duration<double>(MpiClock::now() - start).count();
}

struct Head {
  std::uint64_t number = 0, bytes = 0;
};

struct Goodbye {
  std::int32_t code = 0;
  char why[kLongestWhy] = {};
};

void check_mpi(int error, const char* call) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  throw RankLost(std::string("[ranks] ") + call + ": " + text, -1);
}

class MpiLinks : public Links {
 public:
  explicit MpiLinks(double time_out) : Links(0, 1), time_out_(time_out) {
    int level = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    if (level < MPI_THREAD_SERIALIZED)
      throw Error("[ranks] this MPI lets no second thread call it; --comm tcp needs none", Exit::device);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  // A rank that leaves early does not finish what MPI waits for; mpirun then ends the others.
  ~MpiLinks() override {
    if (!failed_) MPI_Finalize();
  }

  const char* name() const override { return "mpi"; }

  void transfer(const TransferName& name, const std::vector<Send>& sends,
                const std::vector<Receive>& receives) override {
    auto start = MpiClock::now();
    try {
      exchange_heads(name, sends, receives);
      std::vector<MPI_Request> requests;
      for (const Receive& receive : receives)
        in_parts(receive.data, receive.bytes, [&](char* data, int count) {
          check_mpi(
              MPI_Irecv(data, count, MPI_BYTE, receive.from, kPayloadTag, MPI_COMM_WORLD, &requests.emplace_back()),
              "MPI_Irecv");
        });
      for (const Send& send : sends)
        in_parts(const_cast<void*>(send.data), send.bytes, [&](const char* data, int count) {
          check_mpi(MPI_Isend(data, count, MPI_BYTE, send.to, kPayloadTag, MPI_COMM_WORLD, &requests.emplace_back()),
                    "MPI_Isend");
        });
      wait_for(requests, name);
    } catch (...) {
      failed_ = true;
      throw;
    }
    for (const Send& send : sends) traffic_.sent += send.bytes;
    for (const Receive& receive : receives) traffic_.received += receive.bytes;
    traffic_.seconds += seconds_after(start);
  }

  void look() override {
    std::lock_guard lock(mutex_);
    hear_goodbyes();
  }

  void say_goodbye(const std::string& why, Exit code) override {
    std::lock_guard lock(mutex_);
    failed_ = true;
    goodbye_.code = static_cast<std::int32_t>(code);
    std::copy_n(why.data(), std::min(why.size(), kLongestWhy - 1), goodbye_.why);
    std::vector<MPI_Request> requests;
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_)
        MPI_Isend(&goodbye_, sizeof goodbye_, MPI_BYTE, rank, kGoodbyeTag, MPI_COMM_WORLD, &requests.emplace_back());
    auto start = MpiClock::now();
    for (int done = 0; !done && seconds_after(start) < 1;)
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
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
    std::vector<MPI_Request> requests;
    std::vector<Head> out, in(receives.size());
    for (const Send& send : sends) out.push_back({name.number, send.bytes});
    {
      std::lock_guard lock(mutex_);
      for (std::size_t n = 0; n < receives.size(); ++n)
        check_mpi(MPI_Irecv(&in[n], sizeof(Head), MPI_BYTE, receives[n].from, kHeadTag, MPI_COMM_WORLD,
                            &requests.emplace_back()),
                  "MPI_Irecv");
      for (std::size_t n = 0; n < sends.size(); ++n)
        check_mpi(
            MPI_Isend(&out[n], sizeof(Head), MPI_BYTE, sends[n].to, kHeadTag, MPI_COMM_WORLD, &requests.emplace_back()),
            "MPI_Isend");
    }
    wait_for(requests, name);
    for (std::size_t n = 0; n < receives.size(); ++n)
      if (in[n].number != name.number || in[n].bytes != receives[n].bytes)
        throw Error("[ranks] rank " + std::to_string(receives[n].from) + " is at transfer " +
                    std::to_string(in[n].number) + " of " + std::to_string(in[n].bytes) + " bytes, rank " +
                    std::to_string(rank_) + " at " + name.str() + " of " + std::to_string(receives[n].bytes) +
                    ": they do not do the same");
  }

  // MPI makes progress when it is called; between calls this thread leaves its core to those that compute.
  void wait_for(std::vector<MPI_Request>& requests, const TransferName& name) {
    auto start = MpiClock::now();
    auto pause = std::chrono::microseconds(10);
    for (;;) {
      int done = 0;
      {
        std::lock_guard lock(mutex_);
        check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
                  "MPI_Testall");
        if (!done) hear_goodbyes();
      }
      if (done) return;
      throw_if_interrupted();
      if (seconds_after(start) > time_out_)
        throw RankLost("[ranks] rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " waited " +
                           std::to_string(static_cast<int>(time_out_)) + " s in " + name.str() +
                           ", which not all others came to (--comm-timeout)",
                       -1);
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(200));
    }
  }

  void hear_goodbyes() {
    int waits = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kGoodbyeTag, MPI_COMM_WORLD, &waits, &status), "MPI_Iprobe");
    if (!waits) return;
    Goodbye goodbye;
    check_mpi(
        MPI_Recv(&goodbye, sizeof goodbye, MPI_BYTE, status.MPI_SOURCE, kGoodbyeTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "MPI_Recv");
    failed_ = true;
    goodbye.why[kLongestWhy - 1] = 0;
    throw RankLost("[ranks] rank " + std::to_string(status.MPI_SOURCE) + " of " + std::to_string(size_) +
                       " has left: " + goodbye.why,
                   status.MPI_SOURCE, static_cast<Exit>(goodbye.code));
  }

  double time_out_;
  bool failed_ = false;
  std::mutex mutex_;
  Goodbye goodbye_;
};

}  // namespace
}  // namespace sink

extern "C" sink::Links* sinklab_mpi_links(double time_out) { return new sink::MpiLinks(time_out); }
