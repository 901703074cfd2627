// The communicator of the CPU: collectives of tensors in host memory over Links, done by a thread of their own beside
// those that compute.
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
  void say_goodbye(const std::string& why, Exit code) override;
  Traffic traffic() const override;

  // Called by the thread when it finds that a rank is lost while nobody waits for it: in the middle of a computation,
  // whose end may be far. With the last collective that was done. The error comes out of the next call, too. When this
  // returns, whoever was to be told before is not being told any more.
  using Loss = std::function<void(const std::exception_ptr&, const TransferName& last)>;
  void on_loss(Loss tell);

 private:
  using Work = std::function<void(const TransferName&)>;
  void post(const char* collective, Work work);
  void run();
  void tell_of_loss();
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
  std::deque<Posted> posted_;  // the first one is being done
  std::exception_ptr failure_;
  std::mutex telling_;  // while somebody is told; locked before the other
  Loss tell_;           // until it was
  TransferName last_;
  Traffic traffic_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses all of the others
};

}  // namespace sink
