// The largest table of positions that a model computes.
#pragma once

#include <cstdint>
#include <string>

#include "engine/check.h"

namespace sink {

// Throws Error (Exit::usage) for a table of all positions that would take gigabytes. Its values are computed, so the
// size of a model's file does not bound it.
inline void check_table(const char* policy, std::int64_t positions, std::int64_t width) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  SINK_CHECK(positions <= kMost / width, policy,
             "a table of " + std::to_string(positions) + " positions with " + std::to_string(width) +
                 " values each is too large; expected at most " + std::to_string(kMost) +
                 " values: take a shorter context or a smaller width",
             Exit::usage);
}

}  // namespace sink
