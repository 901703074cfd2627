// The mbarriers of a block and the tensor copies (TMA) that signal them, on the emulated device.
//
// An mbarrier counts arrivals and bytes. A phase is complete when all expected arrivals and all expected bytes have
// come. A tensor copy fills its destination with NaN at once; its bytes come when no thread can continue without them,
// or at times that the schedule chooses. These errors end a kernel:
//   an mbarrier that was not initialized, or whose memory was overwritten; a copy that signals one whose initialization
//   was not fenced; more arrivals than a phase expects; a phase that is complete while copies for it are in flight;
//   copies in flight when the block ends; misaligned destinations.
#pragma once

#include <cstdint>
#include <string>

#include "engine/cuda/emulated/keywords.h"
#include "engine/cuda/emulated/tensor_map.h"

namespace sink::emulated {

void mbarrier_init(void* mbarrier, unsigned arrivals, const Site& site);
void fence_mbarrier_init();  // of those that the current thread has initialized
void mbarrier_arrive(void* mbarrier, unsigned expected_bytes, const Site& site);
// Waits until the phase with this parity is complete: the current phase has the other one.
void mbarrier_wait(void* mbarrier, unsigned parity, const Site& site);

// Copies the box at these coordinates, zeros where there is no tensor. All of its bytes count for the mbarrier.
void copy_tensor(void* to, const TensorMap& map, void* mbarrier, const int* coordinates, int rank, const Site& site);

// ---- For block.cpp ----

void start_mbarriers();
// The schedule lets a copy complete, or `now` one must. Returns whether one did.
bool complete_a_copy(bool now);
// The state of all mbarriers that threads wait for, for the message of a deadlock.
std::string describe_mbarriers();
// What is wrong when all threads have returned, or "".
std::string mbarriers_at_end();

}  // namespace sink::emulated
