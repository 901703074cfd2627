#include "train/distributed/distributed_strategy.h"

#include <algorithm>

#include "engine/ops/add/add.h"
#include "train/run_config.h"

namespace sink {
namespace {

// A run of one process computes every micro-batch and communicates nothing.
//
// With `ordered` the gradients of micro-batches are added as ((g_0 + g_1) + g_2) + ... in a buffer of their own: the
// same bits as of any number of processes (DataParallel). Otherwise backward adds to what is there.
class SingleProcess : public DistributedStrategy {
 public:
  SingleProcess(ParameterArena& parameters, std::int64_t micro_batches, bool ordered)
      : DistributedStrategy(ParameterShards(parameters)),
        parameters_(parameters),
        micro_batches_(micro_batches),
        sums_micro_batches_(ordered && micro_batches > 1) {
    if (sums_micro_batches_)
      sum_ = parameters.masters().new_zeros({parameters.padded_size()}, parameters.masters().dtype());
  }

  void begin_micro_batch(std::int64_t n) override {
    micro_batch_ = n;
    if (sums_micro_batches_ && n > 0) parameters_.clear_gradients();
  }
  // The last sum is taken where the optimiser reads it: a + b is b + a.
  void reduce_gradients() override {
    if (!sums_micro_batches_) return;
    Tensor gradients = parameters_.gradients();
    if (micro_batch_ == 0)
      sum_.copy_from(gradients);
    else if (micro_batch_ + 1 == micro_batches_)
      add_into(gradients, sum_);
    else
      add_into(sum_, gradients);
  }
  void add_loss(const Tensor& loss_of_batch, Tensor& loss) override { add_into(loss, loss_of_batch); }

 private:
  ParameterArena& parameters_;
  std::int64_t micro_batches_, micro_batch_ = 0;
  bool sums_micro_batches_;
  Tensor sum_;  // of the micro-batches before this one
};

}  // namespace

ParameterShards::ParameterShards(const ParameterArena& arena)
    : whole_(true), owned_{{0, arena.padded_size()}}, begin_{0}, size_(arena.padded_size()) {}

ParameterShards::ParameterShards(const ParameterArena& arena, int rank, int world_size) : whole_(false) {
  for (const Segment& bucket : arena.buckets()) {
    SINK_CHECK(bucket.size() % world_size == 0, "ranks",
               "the arena is not padded for " + std::to_string(world_size) + " ranks");
    const std::int64_t each = bucket.size() / world_size, begin = bucket.begin + rank * each;
    owned_.push_back({begin, begin + each});
    begin_.push_back(size_);
    size_ += each;
  }
}

Segment ParameterShards::local(const Segment& segment) const {
  auto after = std::upper_bound(owned_.begin(), owned_.end(), segment.begin,
                                [](std::int64_t begin, const Segment& owned) { return begin < owned.begin; });
  const auto n = static_cast<std::size_t>(after - owned_.begin()) - 1;
  SINK_CHECK(after != owned_.begin() && segment.end <= owned_[n].end, "ranks",
             "elements [" + std::to_string(segment.begin) + ", " + std::to_string(segment.end) +
                 ") belong to another rank's shard");
  const std::int64_t begin = begin_[n] + segment.begin - owned_[n].begin;
  return {begin, begin + segment.size()};
}

std::unique_ptr<DistributedStrategy> make_distributed_strategy(ParameterArena& parameters, const RunConfig& config,
                                                               Communicator& ranks) {
  const bool ordered = config.gradient_sum == "ordered";
  if (ranks.is_single_process()) return std::make_unique<SingleProcess>(parameters, config.accumulate, ordered);
  require_ranks_divide(config, ranks.size());
  parameters.pad_buckets(ranks.size());
  return make_data_parallel(parameters, ranks, config.accumulate / ranks.size(), ordered,
                            /*shards_state=*/config.zero == 1);
}

}  // namespace sink
