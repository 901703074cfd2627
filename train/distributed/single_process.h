// SingleProcess: a run of one process computes every micro-batch and communicates nothing.
//
// With `ordered` the gradients of micro-batches are added as ((g_0 + g_1) + g_2) + ... in a buffer of their own: the
// same bits as of any number of processes (DataParallel). Otherwise backward adds to what is there.
#pragma once

#include "train/distributed/distributed_strategy.h"

namespace sink {

class SingleProcess : public DistributedStrategy {
 public:
  SingleProcess(ParameterArena& parameters, std::int64_t micro_batches, bool ordered);

  void begin_micro_batch(std::int64_t n) override;
  void reduce_gradients() override;
  void add_loss(const Tensor& loss_of_batch, Tensor& loss) override;

 private:
  ParameterArena& parameters_;
  std::int64_t micro_batches_, micro_batch_ = 0;
  bool sums_micro_batches_;
  Tensor sum_;  // of the micro-batches before this one
};

}  // namespace sink
