// The vector clocks of the race detector (races.h): what the threads of a block know of each other and of the agents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/cuda/emulated/races.h"

namespace sink::emulated {

using Time = std::uint32_t;

inline void raise(Time* to, const Time* from, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) to[n] = to[n] > from[n] ? to[n] : from[n];
}
inline void lower(Time* to, const Time* from, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) to[n] = to[n] < from[n] ? to[n] : from[n];
}

struct Knowledge {
  std::size_t threads = 0, entities = 0;
  std::vector<Time> now;         // of each thread; its accesses have it until it next arrives somewhere
  std::vector<Time> at_barrier;  // of each entity: what every thread knows since the last barrier of the block
  // A row per thread of what it knows besides. Rows of other blocks are empty.
  std::vector<std::uint64_t> row_block;
  std::vector<Time> known, fenced;

  void start(std::size_t count) {
    threads = count;
    entities = count + kAgents;
    now.assign(threads, 1);
    at_barrier.assign(entities, 0);
    if (row_block.size() < threads) row_block.resize(threads, 0);
    if (known.size() < threads * entities) known.resize(threads * entities), fenced.resize(threads * entities);
  }
  bool has_row(std::size_t thread, std::uint64_t block) const { return row_block[thread] == block; }
  void make_row(std::size_t thread, std::uint64_t block) {
    if (has_row(thread, block)) return;
    row_block[thread] = block;
    std::fill_n(known_row(thread), entities, 0);
    std::fill_n(fenced_row(thread), entities, 0);
  }
  Time* known_row(std::size_t thread) { return known.data() + thread * entities; }
  Time* fenced_row(std::size_t thread) { return fenced.data() + thread * entities; }
};

}  // namespace sink::emulated
