// Loops as the engine has them, without a race, or with one: race_on_purpose [race]. Shows that ThreadSanitizer sees
// ours.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <vector>

#include "engine/threads.h"

int main(int argc, char**) {
  std::vector<std::int64_t> values(1000);
  std::int64_t sum = 0;
  std::mutex adding;
  for (int round = 0; round < 20; ++round) {
    sink::parallel_for(1000, [&](std::int64_t i) { values[static_cast<std::size_t>(i)] += i; });
    std::atomic<int> arrived = 0;  // a piece per thread that waits for the others is on a thread of its own
    sink::parallel_chunks(1000, 10, [&](std::int64_t begin, std::int64_t end) {
      arrived.fetch_add(1, std::memory_order_relaxed);
      while (arrived.load(std::memory_order_relaxed) < sink::thread_count()) {}
      std::int64_t own = 0;
      for (std::int64_t i = begin; i < end; ++i) own += ++values[static_cast<std::size_t>(999 - i)];
      if (argc > 1) {
        sum += own;
      } else {
        std::lock_guard lock(adding);
        sum += own;
      }
    });
  }
  std::printf("%lld\n", static_cast<long long>(sum));
  return 0;
}
