// Collectives of the ranks of a run. All ranks call the same collectives in the same order.
//
// A tensor that is cut among N ranks has N equal chunks, chunk r of rank r. Sums over ranks are taken in the order of
// ranks, each number ((x_0 + x_1) + x_2) + ...: the same bits whatever carries the bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace sink {

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_single_process() const { return size_ == 1; }
  // Only rank 0 writes files and prints.
  bool is_writer() const { return rank_ == 0; }
  // "single process", "mpi", "nccl and mpi"
  virtual std::string name() const = 0;

  // ---- Tensors of the run's device. These calls return at once. The collectives run in the order of the calls, after
  // the kernels that were launched before them and while later ones compute. The caller does not use the tensors until
  // wait().

  // chunk = the sum over ranks of their whole[this rank's chunk]; with `add`, chunk + x_0 + x_1 + ... . F32 or F64;
  // `chunk` may be the chunk of `whole` itself.
  virtual void reduce_scatter(const Tensor& whole, Tensor& chunk, bool add) = 0;
  // Every rank's chunk of `whole` comes to all.
  virtual void all_gather(Tensor& whole) = 0;
  // x of rank 0 comes to all.
  virtual void broadcast(Tensor& x) = 0;
  // Computations after this call see all collectives done. On the CPU the call blocks; on a device it need not. There,
  // a collective can still be aborted, and its values are undefined: call wait() again after they were copied to the
  // host. Throws RankLost if a collective has failed.
  virtual void wait() = 0;

  // ---- Bytes of the host: small, and at once.

  // mine of every rank, by rank.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;

  // The step that this rank is in, for messages.
  void reaches(std::int64_t step) { step_ = step; }
  std::int64_t step() const { return step_; }

  // Bytes that this rank has sent for collectives of tensors, and the seconds that callers waited for them.
  struct Traffic {
    double bytes_sent = 0, seconds_busy = 0, seconds_waited = 0;
  };
  virtual Traffic traffic() const { return {}; }

  // This rank's chunk of a tensor that is cut among the ranks.
  Tensor chunk_of(const Tensor& whole) const {
    const std::int64_t each = whole.size() / size_;
    return whole.slice(rank_ * each, {each});
  }

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

  int rank_, size_;

 private:
  std::atomic<std::int64_t> step_ = 0;
};

// Of a run that has one rank: every collective is done when it is called.
std::unique_ptr<Communicator> make_single_process();
// The same, shared by all that need no communicator of their own.
Communicator& single_process();

}  // namespace sink
