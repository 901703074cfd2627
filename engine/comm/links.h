// Transfers of bytes between the ranks of a run: MPI (mpi/mpi_links.cpp), or a test's sockets. All ranks do the same
// transfers in the same order; host_communicator.h builds collectives from them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/check.h"

namespace sink {

// Names a collective in messages: "all_gather 17".
struct TransferName {
  const char* collective = "";
  std::uint64_t number = 0;  // of collectives since the start, equal on all ranks
  std::string str() const { return std::string(collective) + " " + std::to_string(number); }
};

// Another rank has ended or does not respond.
class RankLost : public Error {
 public:
  explicit RankLost(const std::string& message) : Error(message, Exit::device) {}
};

// "rank 2", "ranks 2, 3".
std::string text_of_ranks(const std::vector<int>& ranks);

class Links {
 public:
  struct Send {
    int to;
    const void* data;
    std::size_t bytes;
  };
  struct Receive {
    int from;
    void* data;
    std::size_t bytes;
  };

  virtual ~Links() = default;
  virtual const char* name() const = 0;
  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }  // among the ranks on this host

  // Does all sends and receives concurrently, at most one to and one from each other rank. Throws RankLost, with the
  // ranks it waits for, after the time-out; Error (Exit::failure) where a rank is at another transfer. One thread at a
  // time.
  virtual void transfer(const TransferName& name, const std::vector<Send>& sends,
                        const std::vector<Receive>& receives) = 0;
  // From another thread: makes a waiting transfer and all later ones throw.
  void interrupt() { interrupted_ = true; }
  // Called repeatedly while a transfer waits, with the ranks that it waits for. Set between transfers.
  using Waiting = std::function<void(const TransferName&, const std::vector<int>& ranks)>;
  void while_waiting(Waiting call) { waiting_ = std::move(call); }

 protected:
  Links(int rank, int size) : rank_(rank), size_(size) {}

  // Called by a transfer that has waited `seconds` for these ranks.
  void wait_longer(const TransferName& name, const std::vector<int>& ranks, double seconds, double time_out) const;

  int rank_, size_, local_rank_ = 0;

 private:
  Waiting waiting_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace sink
