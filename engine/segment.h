// Segment: elements [begin, end) of a tensor, in memory order.
#pragma once

#include <cstdint>

namespace sink {

struct Segment {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

}  // namespace sink
