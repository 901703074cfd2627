// oneDNN on the threads of engine/threads.h.
#pragma once

#include <cstdint>

namespace sink::cpu {

// Debian's oneDNN asks OpenMP for threads through a few functions of GCC's libgomp. onednn_threads.cpp defines them:
// the dynamic linker prefers a program's own functions to a library's. So one set of threads serves everything, and
// none spins while others need the core, as libgomp's would. (libgomp is still loaded, and starts no thread.)
//
// Returns how many times oneDNN has requested threads since the program began. Every file that uses oneDNN calls it,
// because the call links onednn_threads.cpp in.
std::int64_t onednn_loops();

}  // namespace sink::cpu
