// The named barriers of a block (bar.sync and bar.arrive), on the emulated device: some of its warps wait for each
// other. A barrier with another number of threads than its first arrival gave, or with some lanes of a warp only, ends
// the kernel.
#pragma once

#include "engine/cuda/emulated/keywords.h"

namespace sink::emulated {

// Barrier `id`, 1 to 15, of `threads` threads: waits for all, or only counts as arrived.
void sync_named_barrier(int id, int threads, const Site& site);
void arrive_at_named_barrier(int id, int threads, const Site& site);

// ---- For block.cpp ----

void start_named_barriers();

}  // namespace sink::emulated
