#include "train/distributed/single_process.h"

#include "engine/ops/add/add.h"

namespace sink {

SingleProcess::SingleProcess(ParameterArena& parameters, std::int64_t micro_batches, bool ordered)
    : DistributedStrategy(ParameterShards(parameters)),
      parameters_(parameters),
      micro_batches_(micro_batches),
      sums_micro_batches_(ordered && micro_batches > 1) {
  if (sums_micro_batches_)
    sum_ = parameters.masters().new_zeros({parameters.padded_size()}, parameters.masters().dtype());
}

void SingleProcess::begin_micro_batch(std::int64_t n) {
  micro_batch_ = n;
  if (sums_micro_batches_ && n > 0) parameters_.clear_gradients();
}

// The last sum is taken where the optimiser reads it: a + b is b + a.
void SingleProcess::reduce_gradients() {
  if (!sums_micro_batches_) return;
  Tensor gradients = parameters_.gradients();
  if (micro_batch_ == 0)
    sum_.copy_from(gradients);
  else if (micro_batch_ + 1 == micro_batches_)
    add_into(gradients, sum_);
  else
    add_into(sum_, gradients);
}

void SingleProcess::add_loss(const Tensor& loss_of_batch, Tensor& loss) { add_into(loss, loss_of_batch); }

}  // namespace sink
