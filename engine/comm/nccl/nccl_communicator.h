// The communicator of GPUs: NCCL collectives on a separate stream. On the emulated device
// a mock answers the same calls (tests/support/nccl_mock/).
//
// NCCL does not fix the order of its sums, so each rank receives all contributions to its chunk and adds them in the
// order of ranks with an engine kernel.
//
// A thread watches NCCL's asynchronous errors and the time that the oldest collective takes. At an error or after the
// time-out it aborts NCCL: destroying it would wait for the lost rank. What waited continues with undefined values, and
// the next call throws RankLost: so wait() is called again before values that were copied to the host are used.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "engine/comm/host_communicator.h"
#include "engine/comm/nccl/nccl_handle.h"

namespace sink {

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(std::unique_ptr<HostCommunicator> host, double time_out);
  ~NcclCommunicator() override;

  std::string name() const override { return "nccl and " + host_->name(); }
  void reduce_scatter(const Tensor& whole, Tensor& chunk, bool add) override;
  void all_gather(Tensor& whole) override;
  void broadcast(Tensor& x) override;
  void wait() override;
  std::vector<std::string> exchange(const std::string& mine) override;
  Traffic traffic() const override;

 private:
  // A collective that was put on the stream, until it is done.
  struct Event;
  struct Underway {
    TransferName name;
    std::shared_ptr<Event> done;
    std::chrono::steady_clock::time_point since;
  };
  void require_own_gpu();
  void make_communicator();
  // Checks the tensor, and has the stream wait for kernels that were launched; then, that it is underway.
  void begin(const char* collective, const Tensor& x);
  void end(double bytes_sent);
  // Waits until a call is done, not what it has put on the stream; throws RankLost where that fails.
  void settle(ncclResult_t result, const std::string& call);
  void forget_what_is_done();
  void look_after(int device);
  void look(bool waits, const TransferName& name, double seconds);
  void give_up(const std::exception_ptr& why);
  std::string who() const;
  RankLost out_of_time(const std::string& what) const;
  bool failed() const;
  void throw_if_failed() const;

  std::unique_ptr<HostCommunicator> host_;
  double time_out_;
  NcclHandle nccl_;
  cudaStream_t stream_ = nullptr;
  Tensor received_;  // the chunks that reduce_scatter adds up
  std::uint64_t number_ = 0;
  const char* collective_ = "";

  mutable std::mutex mutex_;
  std::condition_variable ends_changed_;
  std::deque<Underway> underway_;
  std::exception_ptr failure_;
  Traffic traffic_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace sink
