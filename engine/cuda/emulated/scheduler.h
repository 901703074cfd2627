// The choice of the thread that runs next, by the schedule: warps have priorities, which a seed changes from time to
// time.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cuda/emulated/block.h"
#include "engine/rng.h"

namespace sink::emulated {

constexpr int kWarp = 32;

struct Warp {
  unsigned alive = 0, runnable = 0, arrived = 0;  // a bit per lane
  void* arguments[kWarp] = {};
  const char* instruction = nullptr;
  Site site;
  unsigned priority = 0;
};

// Chooses the next thread by the schedule.
class Scheduler {
 public:
  void start(std::int64_t block, std::vector<Warp>& warps) {
    random_ = Rng(schedule(), "emulated block");
    draws_ = static_cast<std::uint64_t>(block) << 32;
    choose_priorities(warps);
  }

  // A runnable thread, or -1 if there is none.
  int next(std::vector<Warp>& warps) {
    if (--until_change_ == 0) choose_priorities(warps);
    const Warp* best = nullptr;
    for (const Warp& warp : warps)
      if (warp.runnable && (!best || warp.priority < best->priority)) best = &warp;
    if (!best) return -1;
    int lane = schedule() % 2 ? 31 - __builtin_clz(best->runnable) : __builtin_ctz(best->runnable);
    return static_cast<int>(best - warps.data()) * kWarp + lane;
  }

  std::uint64_t choose(std::uint64_t below) { return schedule() == 0 ? 0 : schedule() == 1 ? below - 1 : draw(below); }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_.below(draws_++, below); }

  void choose_priorities(std::vector<Warp>& warps) {
    unsigned by = schedule();
    for (std::size_t w = 0; w < warps.size(); ++w)
      warps[w].priority = by == 0   ? static_cast<unsigned>(w)
                          : by == 1 ? static_cast<unsigned>(warps.size() - 1 - w)
                                    : static_cast<unsigned>(draw(1000));
    until_change_ = by < 2 ? -1 : 1 + static_cast<long>(draw(200));
  }

  long until_change_ = -1;
  Rng random_{0, ""};
  std::uint64_t draws_ = 0;
};

}  // namespace sink::emulated
