// Counts of what kernels execute on the emulated device. Tests assert a kernel's cost by them, instead of by time.
#pragma once

#include <cstdint>

namespace sink::emulated {

struct Counters {
  std::int64_t matrix_products = 0;   // 16 x 16 times 16 x 8, by a warp
  std::int64_t matrix_loads = 0;      // four 8 x 8 matrices, by a warp
  std::int64_t extra_wavefronts = 0;  // repeated reads of shared memory because of bank conflicts
  std::int64_t copied_bytes = 0;      // by asynchronous copies, without zeros
  std::int64_t approximations = 0;    // of a value, by a thread
};

// Those of this thread of the system.
Counters& counters();
// Those of all threads since the last call. No kernel may run.
Counters take_counters();

}  // namespace sink::emulated
