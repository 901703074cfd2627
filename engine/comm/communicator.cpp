#include "engine/comm/communicator.h"

namespace sink {
namespace {

class SingleProcess : public Communicator {
 public:
  SingleProcess() : Communicator(0, 1) {}
  std::string name() const override { return "single process"; }
  void reduce_scatter(const Tensor& whole, Tensor& chunk, bool) override {
    SINK_CHECK(whole.same_data_ptr(chunk), "ranks", "one rank's sum is what it has: sum in place, or add");
  }
  void all_gather(Tensor&) override {}
  void broadcast(Tensor&) override {}
  void wait() override {}
  std::vector<std::string> exchange(const std::string& mine) override { return {mine}; }
};

}  // namespace

std::unique_ptr<Communicator> make_single_process() { return std::make_unique<SingleProcess>(); }

Communicator& single_process() {
  static SingleProcess single;
  return single;
}

}  // namespace sink
