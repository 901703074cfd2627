// One block of an emulated grid: its threads as fibers, which are switched wherever a thread must wait for others.
//
// A thread runs until it meets an instruction that needs its warp or its block; then the next runs. Which is next is
// the schedule: 0 in order, 1 in reverse, and from 2 on a seed of random priorities that change now and then. What a
// kernel may not do ends it with an Error that names block, thread and source line:
//   deadlock; lanes or threads that meet at different instructions; a collective without all 32 lanes; copies that
//   nobody waits for; misaligned or foreign addresses of copies.
// Shared memory begins as NaN, asynchronous copies write NaN at once and what they copy only when they are waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/cuda/emulated/keywords.h"

namespace sink::emulated {

struct Shape3 {
  dim3 blocks, threads;
  std::size_t shared_bytes;
};

// Runs all blocks of the grid, on all threads of the engine; throws Error with Exit::device at the first mistake.
void run(const Shape3& grid, const std::function<void()>& kernel);
// One of them, by its number, x fastest, on the calling thread.
void run_block(const Shape3& grid, const std::function<void()>& kernel, std::int64_t index);

// Of the kernels launched from now on; at start what the variable SINK_SCHEDULE says, else 0.
void set_schedule(unsigned schedule);
unsigned schedule();

// ---- What kernels reach through engine/cuda/device.cuh and instructions.cuh ----

std::byte* shared_memory();

// Ends the kernel with an Error: the message, then the current thread's block, number and `site`.
[[noreturn]] void kernel_error(const char* instruction, const std::string& message, const Site& site);
// The same where the message says itself what was done and where.
[[noreturn]] void kernel_error(const std::string& message);

// Every lane of the warp calls this with the address of its arguments; the last to come runs together(all of them).
using Together = void (*)(void* arguments_of_lanes[32]);
void collective(const char* instruction, Together together, void* arguments, const Site& site);

// Waits until all threads of the block that have not returned are here; until all lanes of the warp are.
void barrier(const Site& site);
void warp_barrier(const Site& site);

// What an instruction that reads shared memory says of its address, which is a multiple of `bytes`.
void read_shared(const void* from, int bytes, const Site& site);

// Copies 16 bytes to shared memory, or zeros where `from` is null, at some time before the group is waited for.
void copy_async(void* to, const void* from, int bytes, const Site& site);
void commit_copies();
// Until at most `groups` of this thread's groups are on their way.
void wait_for_copies(int groups);

int lane();
// In its block; -1 in host code.
int current_thread();

}  // namespace sink::emulated
