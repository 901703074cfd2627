// How many threads the loops of engine/threads.h use, settled once when a program starts.
#pragma once

#include <cstdint>

namespace sink {

// Uses `threads` OpenMP threads, 0: as many as OpenMP would. Throws Error where the system does not give that many:
// with Exit::usage where they were asked for, else Exit::out_of_memory. (OpenMP itself would leave the process with 1.)
void start_threads(std::int64_t threads);

}  // namespace sink
