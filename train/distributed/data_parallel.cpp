// DataParallel: process r of N computes the micro-batches with index i % N == r and sums gradients with the others.
//
// With `ordered` the sum is ((g_0 + g_1) + g_2) + ... in the order of micro-batches, N of them at a time, so that any
// number of processes, one included, gives the same bits. Otherwise a process adds up its own micro-batches first,
// which saves communication, and then the sums of the processes are added.
//
// The gradients of a bucket (the embedding, a block, or what follows the blocks) are sent as soon as backward has left
// it, while the rest is computed. With `shards_state` (ZeRO-1) every process receives and updates its shard alone and
// the updated parameters are gathered.
#include <algorithm>
#include <cstring>

#include "autograd/tape.h"
#include "engine/ops/add/add.h"
#include "train/distributed/distributed_strategy.h"

namespace sink {
namespace {

class DataParallel : public DistributedStrategy, private ForwardHooks {
 public:
  // `micro_batches`: of this process in a step.
  DataParallel(ParameterArena& parameters, Communicator& ranks, std::int64_t micro_batches, bool ordered,
               bool shards_state)
      : DistributedStrategy(shards_state ? ParameterShards(parameters, ranks.rank(), ranks.size())
                                         : ParameterShards(parameters)),
        parameters_(parameters),
        ranks_(ranks),
        micro_batches_(micro_batches),
        ordered_(ordered) {
    if (!sums_micro_batches()) return;
    const Tensor& masters = parameters.masters();
    for (const Segment& bucket : parameters.buckets())
      sums_.push_back(masters.new_zeros({bucket.size() / ranks.size()}, masters.dtype()));
  }

  void begin_step(std::int64_t step) override {
    ranks_.reaches(step);
    traffic_before_ = ranks_.traffic();
  }

  std::vector<std::int64_t> all_gather_counts(const std::vector<std::int64_t>& own) override {
    const std::vector<std::string> all =
        ranks_.exchange(std::string(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(std::int64_t)));
    std::vector<std::int64_t> counts(all.size() * own.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      SINK_CHECK(all[rank].size() == own.size() * sizeof(std::int64_t), "ranks",
                 "rank " + std::to_string(rank) + " has another number of micro-batches");
      for (std::size_t n = 0; n < own.size(); ++n)
        std::memcpy(&counts[n * all.size() + rank], all[rank].data() + n * sizeof(std::int64_t), sizeof(std::int64_t));
    }
    return counts;
  }

  void begin_micro_batch(std::int64_t n) override {
    micro_batch_ = n;
    reduced_buckets_ = 0;
    if (sums_micro_batches() && n > 0) parameters_.clear_gradients();
  }

  ForwardHooks* forward_hooks() override { return this; }

  void reduce_gradients() override {
    reduce(0);
    const auto buckets = static_cast<std::int64_t>(parameters_.buckets().size());
    if (ordered_ || is_last())
      SINK_CHECK(reduced_buckets_ == buckets, "ranks",
                 "expected gradients of " + std::to_string(buckets) + " buckets, backward completed " +
                     std::to_string(reduced_buckets_));
    ranks_.wait();
    if (!sums_micro_batches() || !is_last()) return;
    for (std::int64_t n = 0; n < buckets; ++n) {
      Tensor whole = bucket_of(parameters_.gradients(), n), chunk = ranks_.chunk_of(whole);
      chunk.copy_from(sums_[static_cast<std::size_t>(n)]);
      if (shards_.is_whole()) ranks_.all_gather(whole);
    }
    if (shards_.is_whole()) ranks_.wait();
  }

  void add_loss(const Tensor& loss_of_batch, Tensor& loss) override {
    Tensor losses = loss.new_zeros({ranks_.size()}, DType::F64);
    losses.rows(ranks_.rank(), ranks_.rank() + 1).copy_from(loss_of_batch);
    ranks_.all_gather(losses);
    ranks_.wait();
    for (std::int64_t rank = 0; rank < ranks_.size(); ++rank) add_into(loss, losses.rows(rank, rank + 1));
  }

  void all_gather_shards(Tensor& values, std::int64_t elements = 1) override {
    if (shards_.is_whole()) return;
    for (const Segment& bucket : parameters_.buckets()) {
      Tensor whole = values.rows(bucket.begin / elements, bucket.end / elements);
      ranks_.all_gather(whole);
    }
    ranks_.wait();
  }

  void gather_parameters() override {
    if (shards_.is_whole()) return;
    all_gather_shards(parameters_.masters());
    parameters_.refresh();
  }

  void end_step() override {
    const Communicator::Traffic after = ranks_.traffic();
    ++traffic_.steps;
    traffic_.bytes_sent += after.bytes_sent - traffic_before_.bytes_sent;
    traffic_.seconds_busy += after.seconds_busy - traffic_before_.seconds_busy;
    traffic_.seconds_waited += after.seconds_waited - traffic_before_.seconds_waited;
  }

  ControlFlags agree(const ControlFlags& own) override {
    ControlFlags agreed;
    for (const std::string& flags :
         ranks_.exchange({static_cast<char>(own.stop_signal), static_cast<char>(own.save)})) {
      SINK_CHECK(flags.size() == 2, "ranks", "expected two bytes of flags, got " + std::to_string(flags.size()));
      if (agreed.stop_signal == 0) agreed.stop_signal = flags[0];
      agreed.save |= flags[1] != 0;
    }
    return agreed;
  }

  bool any(bool own) override {
    return std::ranges::any_of(ranks_.exchange(own ? "1" : ""), [](const std::string& one) { return !one.empty(); });
  }

  bool broadcast(bool own) override { return !ranks_.exchange(own ? "1" : "").front().empty(); }

  Traffic traffic() const override { return traffic_; }

 private:
  // When backward returns to such a point, the gradients of what forward did after it are complete.
  void residual_pre(std::int64_t layer, Residual&) override { reduce_when_backward_returns(layer + 1); }
  void residual_post(std::int64_t layer, Residual&) override {
    if (layer + 2 == last_bucket()) reduce_when_backward_returns(layer + 2);
  }

  void reduce_when_backward_returns(std::int64_t n) {
    Tape::backward_hook([this, n] { reduce(n); });
  }

  void reduce(std::int64_t n) {
    if (!ordered_ && !is_last()) return;
    ++reduced_buckets_;
    Tensor whole = bucket_of(parameters_.gradients(), n);
    if (sums_micro_batches()) {
      ranks_.reduce_scatter(whole, sums_[static_cast<std::size_t>(n)], /*add=*/micro_batch_ > 0);
    } else {
      Tensor chunk = ranks_.chunk_of(whole);
      ranks_.reduce_scatter(whole, chunk, /*add=*/false);
      if (shards_.is_whole()) ranks_.all_gather(whole);
    }
  }

  bool is_last() const { return micro_batch_ + 1 == micro_batches_; }
  // Whether the sums of micro-batches are kept apart from the gradients of the present one.
  bool sums_micro_batches() const { return ordered_ && micro_batches_ > 1; }
  // Bucket 0 is the embedding, 1 ... L are the blocks, the last is what follows them.
  std::int64_t last_bucket() const { return static_cast<std::int64_t>(parameters_.buckets().size()) - 1; }

  Tensor bucket_of(const Tensor& whole, std::int64_t n) const {
    const Segment& segment = parameters_.buckets()[static_cast<std::size_t>(n)];
    return whole.rows(segment.begin, segment.end);
  }

  ParameterArena& parameters_;
  Communicator& ranks_;
  std::int64_t micro_batches_, micro_batch_ = 0, reduced_buckets_ = 0;
  bool ordered_;
  std::vector<Tensor> sums_;  // of the micro-batches before this one: this process's shard of each bucket
  Communicator::Traffic traffic_before_;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<DistributedStrategy> make_data_parallel(ParameterArena& parameters, Communicator& ranks,
                                                        std::int64_t micro_batches, bool ordered, bool shards_state) {
  return std::make_unique<DataParallel>(parameters, ranks, micro_batches, ordered, shards_state);
}

}  // namespace sink
