#include "engine/thread_start.h"

#include <omp.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/check.h"

namespace sink {
namespace {

// Of `wanted` threads beside this one, how many can live at once.
std::int64_t startable(std::int64_t wanted) {
  std::mutex mutex;
  std::condition_variable released;
  bool go = false;
  std::vector<std::thread> threads;
  try {
    threads.reserve(static_cast<std::size_t>(wanted));
    while (static_cast<std::int64_t>(threads.size()) < wanted) {
      threads.emplace_back([&] {
        std::unique_lock lock(mutex);
        released.wait(lock, [&] { return go; });
      });
    }
  } catch (const std::system_error&) {  // that many, then
  } catch (const std::bad_alloc&) {}
  {
    std::lock_guard lock(mutex);
    go = true;
  }
  released.notify_all();
  for (std::thread& thread : threads) thread.join();
  return static_cast<std::int64_t>(threads.size());
}

}  // namespace

void start_threads(std::int64_t threads) {
  if (threads > 0) omp_set_num_threads(static_cast<int>(threads));
  std::int64_t wanted = omp_get_max_threads(), got = 1 + startable(wanted - 1);
  if (got == wanted) return;
  throw Error("cannot start " + std::to_string(wanted) + " threads, the system gives " + std::to_string(got) +
                  "; choose fewer (--threads, or the environment variable OMP_NUM_THREADS) or raise its limits (ulimit "
                  "-u, -v)",
              threads > 0 ? Exit::usage : Exit::out_of_memory);
}

}  // namespace sink
