// What carries bytes between the ranks of a run, by TCP (tcp_links.h) or MPI (mpi_links.h). Ranks do the same transfers
// in the same order; collectives are made of them (host_communicator.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/check.h"

namespace sink {

// What may be said of a rank's work where something goes wrong: "all_gather 17", and where it stands.
struct TransferName {
  const char* collective = "";
  std::uint64_t number = 0;  // of collectives since the run began, alike on all ranks
  std::string str() const { return std::string(collective) + " " + std::to_string(number); }
};

// Another rank is gone, or is not heard of. `rank`: which; -1: not known.
class RankLost : public Error {
 public:
  RankLost(const std::string& message, int rank, Exit code = Exit::device) : Error(message, code), rank(rank) {}
  int rank;
};

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
  struct Traffic {
    std::uint64_t sent = 0, received = 0;  // bytes of payload
    double seconds = 0;                    // inside transfer()
  };

  virtual ~Links() = default;
  virtual const char* name() const = 0;  // "tcp", "mpi"
  int rank() const { return rank_; }
  int size() const { return size_; }

  // All of these at once, at most one to and one from each other rank; returns when all are done. Throws RankLost where
  // a rank closes its links or says good-bye, or where nothing has moved for the time-out, naming those that are waited
  // for; Error (Exit::failure) where a rank is at another transfer. One thread at a time.
  virtual void transfer(const TransferName& name, const std::vector<Send>& sends,
                        const std::vector<Receive>& receives) = 0;
  // Between transfers: throws RankLost where a rank has gone meanwhile, and does not wait.
  virtual void look() = 0;
  // Tells the others, as far as that goes without waiting, why this rank leaves, and closes. They throw RankLost with
  // these words and this code.
  virtual void say_goodbye(const std::string& why, Exit code) = 0;
  // From another thread: a transfer that waits throws soon, and so do all later ones.
  void interrupt() { interrupted_ = true; }

  const Traffic& traffic() const { return traffic_; }

 protected:
  Links(int rank, int size) : rank_(rank), size_(size) {}

  void throw_if_interrupted() const {
    if (interrupted_) throw RankLost("[ranks] this rank leaves", rank_);
  }

  int rank_, size_;
  Traffic traffic_;

 private:
  std::atomic<bool> interrupted_ = false;
};

}  // namespace sink
