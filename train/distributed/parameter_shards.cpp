#include "train/distributed/parameter_shards.h"

#include <algorithm>

namespace sink {

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

}  // namespace sink
