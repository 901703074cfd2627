// ArenaShare: the numbers of a parameter arena that a rank updates and keeps an optimiser's state of: all of them, or
// of every section its chunk (ZeRO, Rajbhandari et al. 2020: --zero).
#pragma once

#include <vector>

#include "autograd/parameter_arena.h"

namespace sink {

class ArenaShare {
 public:
  // All of it.
  explicit ArenaShare(const ParameterArena& arena);
  // Chunk `rank` of `ranks` of every section; the arena was cut among as many.
  ArenaShare(const ParameterArena& arena, int rank, int ranks);

  bool is_whole() const { return whole_; }
  // In order.
  const std::vector<Segment>& owned() const { return owned_; }
  // How many numbers these are, and where the numbers of a segment that lies in one of them stand among them.
  std::int64_t size() const { return size_; }
  Segment place_of(const Segment& segment) const;

 private:
  bool whole_;
  std::vector<Segment> owned_;
  std::vector<std::int64_t> before_;  // numbers owned before each
  std::int64_t size_ = 0;
};

}  // namespace sink
