#include "autograd/arena_share.h"

#include <algorithm>

#include "autograd/parameter_arena.h"

namespace sink {

ArenaShare::ArenaShare(const ParameterArena& arena)
    : whole_(true), owned_{{0, arena.padded_size()}}, before_{0}, size_(arena.padded_size()) {}

ArenaShare::ArenaShare(const ParameterArena& arena, int rank, int ranks) : whole_(false) {
  for (const Segment& section : arena.sections()) {
    SINK_CHECK(section.size() % ranks == 0, "ranks", "the arena was not cut among " + std::to_string(ranks) + " ranks");
    const std::int64_t each = section.size() / ranks, begin = section.begin + rank * each;
    owned_.push_back({begin, begin + each});
    before_.push_back(size_);
    size_ += each;
  }
}

Segment ArenaShare::place_of(const Segment& segment) const {
  auto behind = std::upper_bound(owned_.begin(), owned_.end(), segment.begin,
                                 [](std::int64_t begin, const Segment& owned) { return begin < owned.begin; });
  const auto n = static_cast<std::size_t>(behind - owned_.begin()) - 1;
  SINK_CHECK(
      behind != owned_.begin() && segment.end <= owned_[n].end, "ranks",
      "numbers [" + std::to_string(segment.begin) + ", " + std::to_string(segment.end) + ") are not this rank's");
  const std::int64_t begin = before_[n] + segment.begin - owned_[n].begin;
  return {begin, begin + segment.size()};
}

}  // namespace sink
