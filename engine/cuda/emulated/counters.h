// What the kernels of the emulated device have executed: what tests assert of a kernel's cost, in place of a clock.
#pragma once

#include <cstdint>

namespace sink::emulated {

struct Counters {
  std::int64_t matrix_products = 0;   // 16 x 16 times 16 x 8, by a warp
  std::int64_t matrix_loads = 0;      // four 8 x 8 matrices, by a warp
  std::int64_t extra_wavefronts = 0;  // how often shared memory was asked again because rows lay in the same banks
  std::int64_t copied_bytes = 0;      // by asynchronous copies, without zeros
  std::int64_t approximations = 0;    // of a number, by a thread
};

// Of this thread of the system.
Counters& counters();
// Of all threads since the last call, at a time when no kernel runs.
Counters take_counters();

}  // namespace sink::emulated
