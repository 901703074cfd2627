// How many threads the loops of engine/threads.h use, settled once when a program starts.
#pragma once

#include <cstdint>

namespace sink {

// Uses `threads` threads, 0: OMP_NUM_THREADS, else one per core. Throws Error where the system does not give that many:
// with Exit::usage where they were asked for, else Exit::out_of_memory.
void start_threads(std::int64_t threads);

}  // namespace sink
