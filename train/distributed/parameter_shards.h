// ParameterShards: the elements of a parameter arena that a process updates and keeps optimizer state of: all, or with
// --zero 1 one shard of every bucket (ZeRO-1, Rajbhandari et al. 2020).
#pragma once

#include <vector>

#include "autograd/parameter_arena.h"

namespace sink {

class ParameterShards {
 public:
  // All elements.
  explicit ParameterShards(const ParameterArena& arena);
  // Shard `rank` of `world_size` equal shards of every bucket. The arena is padded for as many (pad_buckets()).
  ParameterShards(const ParameterArena& arena, int rank, int world_size);

  bool is_whole() const { return whole_; }
  // In order.
  const std::vector<Segment>& owned() const { return owned_; }
  // The number of elements. local() returns the position among them of a segment inside one of owned().
  std::int64_t size() const { return size_; }
  Segment local(const Segment& segment) const;

 private:
  bool whole_;
  std::vector<Segment> owned_;
  std::vector<std::int64_t> begin_;  // of each shard among the elements
  std::int64_t size_ = 0;
};

}  // namespace sink
