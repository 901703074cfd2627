// A launch on the emulated device: runs the blocks on all threads, in the order of the schedule.
#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

#include "engine/check.h"
#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/block_memory.h"
#include "engine/cuda/emulated/launches.h"
#include "engine/cuda/emulated/memory.h"
#include "engine/cuda/emulated/races.h"
#include "engine/cuda/emulated/traffic.h"
#include "engine/environment_number.h"
#include "engine/rng.h"
#include "engine/threads.h"

namespace sink::emulated {
namespace {

constexpr unsigned kMostThreads = 1024;

std::atomic<unsigned>& chosen_schedule() {
  static std::atomic<unsigned> chosen{
      static_cast<unsigned>(environment_number_or("SINK_SCHEDULE", 0, "a number", 0, std::numeric_limits<int>::max()))};
  return chosen;
}

// The order in which blocks start.
std::vector<std::int64_t> order_of_blocks(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (schedule() == 1) std::reverse(order.begin(), order.end());
  if (schedule() > 1) {
    Rng random(schedule(), "emulated grid");
    for (std::size_t n = order.size(); n > 1; --n) std::swap(order[n - 1], order[random.below(n, n)]);
  }
  return order;
}

}  // namespace

void set_schedule(unsigned schedule) { chosen_schedule() = schedule; }
unsigned schedule() { return chosen_schedule().load(std::memory_order_relaxed); }

void run(const Shape3& grid, const std::function<void()>& kernel, const void* address) {
  auto again = [=] { run(grid, kernel, address); };
  if (is_recorded(again) || is_enqueued(again)) return;
  wait_for_other_streams();
  std::lock_guard one_at_a_time(device_mutex());
  unsigned threads = grid.threads.x * grid.threads.y * grid.threads.z;
  SINK_CHECK(threads > 0 && threads <= kMostThreads && grid.shared_bytes <= kMostShared && grid.blocks.x > 0 &&
                 grid.blocks.y > 0 && grid.blocks.y < 65536 && grid.blocks.z > 0 && grid.blocks.z < 65536,
             "emulated device",
             "a block has 1 to 1024 threads and at most " + std::to_string(kMostShared) +
                 " bytes of shared memory, a grid at least one block and fewer than 65536 along y and z; got " +
                 std::to_string(threads) + " threads, " + std::to_string(grid.shared_bytes) + " bytes, (" +
                 std::to_string(grid.blocks.x) + "," + std::to_string(grid.blocks.y) + "," +
                 std::to_string(grid.blocks.z) + ") blocks",
             Exit::device);
  std::vector<std::int64_t> order =
      order_of_blocks(static_cast<std::int64_t>(grid.blocks.x) * grid.blocks.y * grid.blocks.z);
  DeviceAccess access;
  note_kernel(address);
  auto run_nth = [&](std::int64_t n) { run_block(grid, kernel, order[static_cast<std::size_t>(n)]); };
  if (const RaceHooks* races = race_hooks()) {  // which support one thread of the system
    races->launch();
    for (std::size_t n = 0; n < order.size(); ++n) run_nth(static_cast<std::int64_t>(n));
  } else {
    parallel_for(static_cast<std::int64_t>(order.size()), run_nth);
  }
}

}  // namespace sink::emulated
