// wgmma and setmaxnreg on the emulated device: instructions of a warpgroup, which is four consecutive warps.
//
// Every warp computes its 16 rows of a product m64nNk16. Accumulators are NaN from the issue of a product to the wait
// for its group, and operands are read at both times. These errors end a kernel:
//   an operand that changed in between (it arrived late, or was overwritten early); accumulators that were accessed; a
//   group that does not begin with wgmma_fence; warps of a warpgroup that execute different instructions; descriptors
//   that no tile of swizzled rows has; operands outside of shared memory; products in flight when a thread returns;
//   more registers than a multiprocessor has.
#pragma once

#include <cstdint>
#include <string>

#include "engine/cuda/emulated/keywords.h"

namespace sink::emulated {

// A lane's arguments. Shared-memory operands are matrix descriptors (PTX ISA, "Matrix Descriptor Format").
struct WgmmaLane {
  float* sums;                // columns / 2
  const std::uint32_t* left;  // four registers, or null
  std::uint64_t left_descriptor, right_descriptor;
  int columns;
  bool right_is_transposed;  // the rows of the tile are those of the right operand, not its columns
  bool accumulate;           // false: the sums begin at 0
};
void wgmma(WgmmaLane& lane, const Site& site);
void wgmma_fence(const Site& site);
void wgmma_commit_group(const Site& site);
void wgmma_wait_group(int groups, const Site& site);

// Changes the registers of each thread of the warpgroup; waits until there are enough.
void set_max_registers(int registers, bool increase, const Site& site);

// ---- For block.cpp and races.cpp ----

void start_wgmma();
// The call site of a product in flight whose accumulators in the current thread include this address, or null.
const Site* product_that_accumulates_at(const void* address);
// What is wrong when the current thread returns, or all threads have, or "".
std::string wgmma_at_end_of_thread();
std::string wgmma_at_end();

}  // namespace sink::emulated
