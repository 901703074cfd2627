// oneDNN on the threads of engine/threads.h.
#pragma once

#include <cstdint>

namespace sink::cpu {

// Debian's oneDNN asks OpenMP for threads, by the few functions of GCC's libgomp that onednn_threads.cpp defines: the
// dynamic linker prefers a program's own functions to a library's. So one set of threads serves all, and none spins
// where others need the core, as libgomp's would. (libgomp is still loaded, and starts no thread.)
//
// Returns how often oneDNN has had threads since the program began. Whoever uses oneDNN calls it, for this links them
// in.
std::int64_t onednn_loops();

}  // namespace sink::cpu
