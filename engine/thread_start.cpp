#include "engine/thread_start.h"

#include <string>

#include "engine/check.h"
#include "engine/threads.h"

namespace sink {

void start_threads(std::int64_t threads) {
  if (threads > 0) set_thread_count(static_cast<int>(threads));
  int wanted = thread_count(), got = start_all_threads();
  if (got == wanted) return;
  throw Error("cannot start " + std::to_string(wanted) + " threads, the system gives " + std::to_string(got) +
                  "; choose fewer (--threads, or the environment variable OMP_NUM_THREADS) or raise its limits (ulimit "
                  "-u, -v)",
              threads > 0 ? Exit::usage : Exit::out_of_memory);
}

}  // namespace sink
