// The communicator of the CPU: collectives of tensors in host memory over Links, on a separate thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/comm/communicator.h"
#include "engine/comm/links.h"

namespace sink {

class HostCommunicator : public Communicator {
 public:
  explicit HostCommunicator(std::unique_ptr<Links> links);
  ~HostCommunicator() override;

  std::string name() const override { return links_->name(); }
  void reduce_scatter(const Tensor& whole, Tensor& chunk, bool add) override;
  void all_gather(Tensor& whole) override;
  void broadcast(Tensor& x) override;
  void wait() override;
  std::vector<std::string> exchange(const std::string& mine) override;
  Traffic traffic() const override;

 private:
  using Work = std::function<void(const TransferName&)>;
  void post(const char* collective, Work work);
  void run();
  void transfer(const TransferName& name, const std::vector<Links::Send>& sends,
                const std::vector<Links::Receive>& receives);

  std::unique_ptr<Links> links_;
  std::uint64_t number_ = 0;  // of collectives posted

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  struct Posted {
    TransferName name;
    Work work;
  };
  std::deque<Posted> posted_;  // the first one is in progress
  std::exception_ptr failure_;
  Traffic traffic_;
  bool ends_ = false;
  std::thread thread_;  // last member: it uses all others
};

// The communicator of ranks on GPUs: tensors by NCCL, small host data by the host's links.
// Wraps the communicator of the host. `time_out`: seconds within which a collective must be done.
// Throws Error (Exit::device) where this build has no NCCL, or NCCL fails.
std::unique_ptr<Communicator> device_communicator(std::unique_ptr<HostCommunicator> host, double time_out);

// Empty if NCCL can be loaded, else the reason.
std::string nccl_refusal();

}  // namespace sink
