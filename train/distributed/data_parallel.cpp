#include "train/distributed/data_parallel.h"

#include <algorithm>
#include <cstring>

#include "autograd/tape.h"
#include "engine/ops/add/add.h"

namespace sink {

DataParallel::DataParallel(ParameterArena& parameters, Communicator& ranks, std::int64_t micro_batches, bool ordered,
                           bool shards_state)
    : DistributedStrategy(shards_state ? ParameterShards(parameters, ranks.rank(), ranks.size())
                                       : ParameterShards(parameters)),
      parameters_(parameters),
      ranks_(ranks),
      micro_batches_(micro_batches),
      ordered_(ordered) {
  if (!sums_micro_batches()) return;
  const Tensor& masters = parameters.masters();
  for (const Segment& section : parameters.sections())
    sums_.push_back(masters.new_zeros({section.size() / ranks.size()}, masters.dtype()));
}

Tensor DataParallel::section_of(const Tensor& whole, std::int64_t n) const {
  const Segment& segment = parameters_.sections()[static_cast<std::size_t>(n)];
  return whole.rows(segment.begin, segment.end);
}

void DataParallel::begin_step(std::int64_t step) {
  ranks_.reaches(step);
  traffic_before_ = ranks_.traffic();
}

void DataParallel::end_step() {
  const Communicator::Traffic after = ranks_.traffic();
  ++traffic_.steps;
  traffic_.bytes_sent += after.bytes_sent - traffic_before_.bytes_sent;
  traffic_.seconds_busy += after.seconds_busy - traffic_before_.seconds_busy;
  traffic_.seconds_waited += after.seconds_waited - traffic_before_.seconds_waited;
}

std::vector<std::int64_t> DataParallel::all_gather_counts(const std::vector<std::int64_t>& own) {
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

void DataParallel::begin_micro_batch(std::int64_t n) {
  micro_batch_ = n;
  reduced_sections_ = 0;
  if (sums_micro_batches() && n > 0) parameters_.clear_gradients();
}

void DataParallel::reduce_when_backward_returns(std::int64_t n) {
  Tape::backward_hook([this, n] { reduce(n); });
}

void DataParallel::reduce(std::int64_t n) {
  if (!ordered_ && !is_last()) return;
  ++reduced_sections_;
  Tensor whole = section_of(parameters_.gradients(), n);
  if (sums_micro_batches()) {
    ranks_.reduce_scatter(whole, sums_[static_cast<std::size_t>(n)], /*add=*/micro_batch_ > 0);
  } else {
    Tensor chunk = ranks_.chunk_of(whole);
    ranks_.reduce_scatter(whole, chunk, /*add=*/false);
    if (shards_.is_whole()) ranks_.all_gather(whole);
  }
}

void DataParallel::reduce_gradients() {
  reduce(0);
  const auto sections = static_cast<std::int64_t>(parameters_.sections().size());
  if (ordered_ || is_last())
    SINK_CHECK(reduced_sections_ == sections, "ranks",
               "expected gradients of " + std::to_string(sections) + " sections, backward completed " +
                   std::to_string(reduced_sections_));
  ranks_.wait();
  if (!sums_micro_batches() || !is_last()) return;
  for (std::int64_t n = 0; n < sections; ++n) {
    Tensor whole = section_of(parameters_.gradients(), n), chunk = ranks_.chunk_of(whole);
    chunk.copy_from(sums_[static_cast<std::size_t>(n)]);
    if (shards_.is_whole()) ranks_.all_gather(whole);
  }
  if (shards_.is_whole()) ranks_.wait();
}

void DataParallel::add_loss(const Tensor& loss_of_batch, Tensor& loss) {
  Tensor losses = loss.new_zeros({ranks_.size()}, DType::F64);
  losses.rows(ranks_.rank(), ranks_.rank() + 1).copy_from(loss_of_batch);
  ranks_.all_gather(losses);
  ranks_.wait();
  for (std::int64_t rank = 0; rank < ranks_.size(); ++rank) add_into(loss, losses.rows(rank, rank + 1));
}

void DataParallel::all_gather_shards(Tensor& values, std::int64_t elements) {
  if (shards_.is_whole()) return;
  for (const Segment& section : parameters_.sections()) {
    Tensor whole = values.rows(section.begin / elements, section.end / elements);
    ranks_.all_gather(whole);
  }
  ranks_.wait();
}

void DataParallel::gather_parameters() {
  if (shards_.is_whole()) return;
  all_gather_shards(parameters_.masters());
  parameters_.refresh();
}

ControlFlags DataParallel::agree(const ControlFlags& own) {
  ControlFlags agreed;
  for (const std::string& flags : ranks_.exchange({static_cast<char>(own.stop_signal), static_cast<char>(own.save)})) {
    SINK_CHECK(flags.size() == 2, "ranks", "expected two bytes of flags, got " + std::to_string(flags.size()));
    if (agreed.stop_signal == 0) agreed.stop_signal = flags[0];
    agreed.save |= flags[1] != 0;
  }
  return agreed;
}

bool DataParallel::any(bool own) {
  return std::ranges::any_of(ranks_.exchange(own ? "1" : ""), [](const std::string& one) { return !one.empty(); });
}

bool DataParallel::of_writer(bool own) { return !ranks_.exchange(own ? "1" : "").front().empty(); }

}  // namespace sink
