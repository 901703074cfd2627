#include "engine/cuda/emulated/named_barriers.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/block_threads.h"
#include "engine/cuda/emulated/races.h"

namespace sink::emulated {
namespace {

constexpr int kWarp = 32, kBarriers = 16;

struct NamedBarrier {
  int threads = 0;
  std::vector<int> arrived, waiting;
  Clock arriving, complete;
};

std::array<NamedBarrier, kBarriers>& barriers() {
  static thread_local std::array<NamedBarrier, kBarriers> of_thread;
  return of_thread;
}

void check_whole_warps(const NamedBarrier& barrier) {
  std::vector<int> lanes(static_cast<std::size_t>(threads_of_block() / kWarp + 1));
  for (int thread : barrier.arrived) ++lanes[static_cast<std::size_t>(thread / kWarp)];
  for (int count : lanes)
    if (count != 0 && count != kWarp) stop_thread("a named barrier with " + std::to_string(count) + " lanes of a warp");
}

NamedBarrier& arrive(const char* instruction, int id, int threads, const Site& site) {
  set_instruction(instruction, site);
  if (id < 1 || id >= kBarriers) stop_thread("a named barrier that is not one of 1 to 15");
  if (threads < kWarp || threads % kWarp != 0 || threads > threads_of_block())
    stop_thread("a named barrier of " + std::to_string(threads) + " threads, which are not whole warps of the block");
  NamedBarrier& barrier = barriers()[static_cast<std::size_t>(id)];
  if (barrier.arrived.empty()) barrier.threads = threads;
  if (barrier.threads != threads)
    stop_thread("a named barrier for " + std::to_string(barrier.threads) + " threads and for " +
                std::to_string(threads));
  if (std::find(barrier.arrived.begin(), barrier.arrived.end(), current_thread()) != barrier.arrived.end())
    stop_thread("a thread that arrives twice at a named barrier before the others");
  if (const RaceHooks* races = race_hooks()) races->release(barrier.arriving);
  barrier.arrived.push_back(current_thread());
  if (static_cast<int>(barrier.arrived.size()) == threads) {
    check_whole_warps(barrier);
    barrier.arrived.clear();
    barrier.complete = std::exchange(barrier.arriving, {});
    for (int thread : std::exchange(barrier.waiting, {})) resume(thread);
  }
  return barrier;
}

}  // namespace

void sync_named_barrier(int id, int threads, const Site& site) {
  NamedBarrier& barrier = arrive("named_barrier_sync", id, threads, site);
  if (!barrier.arrived.empty()) {
    barrier.waiting.push_back(current_thread());
    suspend();
  }
  if (const RaceHooks* races = race_hooks()) races->acquire(barrier.complete);
}

void arrive_at_named_barrier(int id, int threads, const Site& site) {
  arrive("named_barrier_arrive", id, threads, site);
}

void start_named_barriers() { barriers() = {}; }

}  // namespace sink::emulated
