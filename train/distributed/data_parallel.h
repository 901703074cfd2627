// DataParallel: process r of N computes the micro-batches with index i % N == r and sums gradients with the others.
//
// With `ordered` the sum is ((g_0 + g_1) + g_2) + ... in the order of micro-batches, N of them at a time, so that any
// number of processes, one included, gives the same bits. Otherwise a process adds up its own micro-batches first,
// which saves communication, and then the sums of the processes are added.
//
// The gradients of a section (the embedding, a block, or what follows the blocks) are sent as soon as backward has left
// it, while the rest is computed. With `shards_state` (ZeRO-1) every process receives and updates its shard alone and
// the updated parameters are gathered.
#pragma once

#include "train/distributed/distributed_strategy.h"

namespace sink {

class DataParallel : public DistributedStrategy, private ForwardHooks {
 public:
  // `micro_batches`: of this process in a step.
  DataParallel(ParameterArena& parameters, Communicator& ranks, std::int64_t micro_batches, bool ordered,
               bool shards_state);

  void begin_step(std::int64_t step) override;
  std::vector<std::int64_t> all_gather_counts(const std::vector<std::int64_t>& own) override;
  void begin_micro_batch(std::int64_t n) override;
  ForwardHooks* forward_hooks() override { return this; }
  void reduce_gradients() override;
  void add_loss(const Tensor& loss_of_batch, Tensor& loss) override;
  void all_gather_shards(Tensor& values, std::int64_t elements = 1) override;
  void gather_parameters() override;
  void end_step() override;

  ControlFlags agree(const ControlFlags& own) override;
  bool any(bool own) override;
  bool of_writer(bool own) override;
  Traffic traffic() const override { return traffic_; }

 private:
  // When backward returns to such a point, the gradients of what forward did after it are complete.
  void residual_pre(std::int64_t layer, Residual&) override { reduce_when_backward_returns(layer + 1); }
  void residual_post(std::int64_t layer, Residual&) override {
    if (layer + 2 == last_section()) reduce_when_backward_returns(layer + 2);
  }
  void reduce_when_backward_returns(std::int64_t section);
  void reduce(std::int64_t section);

  bool is_last() const { return micro_batch_ + 1 == micro_batches_; }
  // Whether the sums of micro-batches are kept apart from the gradients of the present one.
  bool sums_micro_batches() const { return ordered_ && micro_batches_ > 1; }
  // Section 0 is the embedding, 1 ... L are the blocks, the last is what follows them.
  std::int64_t last_section() const { return static_cast<std::int64_t>(parameters_.sections().size()) - 1; }
  Tensor section_of(const Tensor& whole, std::int64_t n) const;

  ParameterArena& parameters_;
  Communicator& ranks_;
  std::int64_t micro_batches_, micro_batch_ = 0, reduced_sections_ = 0;
  bool ordered_;
  std::vector<Tensor> sums_;  // of the micro-batches before this one: this process's shard of each section
  Communicator::Traffic traffic_before_;
  Traffic traffic_;
};

}  // namespace sink
