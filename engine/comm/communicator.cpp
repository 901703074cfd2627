#include "engine/comm/communicator.h"

namespace sink {
namespace {

class OneRank : public Communicator {
 public:
  OneRank() : Communicator(0, 1) {}
  std::string name() const override { return "no other rank"; }
  void reduce_scatter(const Tensor& whole, Tensor& chunk, bool) override {
    SINK_CHECK(whole.begins_as(chunk), "ranks", "one rank's sum is what it has: sum in place, or add");
  }
  void all_gather(Tensor&) override {}
  void broadcast(Tensor&) override {}
  void wait() override {}
  std::vector<std::string> exchange(const std::string& mine) override { return {mine}; }
  void say_goodbye(const std::string&, Exit) override {}
};

}  // namespace

std::unique_ptr<Communicator> no_other_rank() { return std::make_unique<OneRank>(); }

Communicator& no_others() {
  static OneRank alone;
  return alone;
}

}  // namespace sink
