// One block of an emulated grid: its threads are fibers, which are switched wherever a thread must wait for others.
//
// A thread runs until an instruction that needs its warp or its block; then the next one runs. The schedule chooses it:
// 0 in order, 1 in reverse, other values seed random priorities that change from time to time. These errors end a
// kernel with an Error that names block, thread and source line:
//   deadlock; lanes or threads that meet at different instructions; a collective without all 32 lanes; copies without a
//   wait; misaligned addresses of copies, or addresses outside of the block's shared memory.
// Shared memory is filled with NaN when a block starts. An asynchronous copy writes NaN at once and the data only when
// it is waited for.
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

// Runs all blocks of the grid on all threads of the engine; throws Error with Exit::device at the first error.
// `address` is that of the kernel, for counts of its traffic.
void run(const Shape3& grid, const std::function<void()>& kernel, const void* address = nullptr);
// Runs block `index`, x fastest, on the calling thread.
void run_block(const Shape3& grid, const std::function<void()>& kernel, std::int64_t index);

// The schedule of later launches; by default that of the environment variable SINK_SCHEDULE, else 0.
void set_schedule(unsigned schedule);
unsigned schedule();

// ---- Used by kernels through engine/cuda/device.cuh and instructions.cuh ----

std::byte* shared_memory();

// Ends the kernel with an Error: the message, then the current thread's block, index and `site`.
[[noreturn]] void kernel_error(const char* instruction, const std::string& message, const Site& site);
// The same without an instruction.
[[noreturn]] void kernel_error(const std::string& message);

// Every lane of the warp calls this with the address of its arguments; the last one runs together(those of all lanes).
using Together = void (*)(void* arguments_of_lanes[32]);
void collective(const char* instruction, Together together, void* arguments, const Site& site);

// Waits for all threads of the block that have not returned; for all lanes of the warp.
void barrier(const Site& site);
void warp_barrier(const Site& site);

// Checks the address of an instruction that reads shared memory, aligned to `bytes`.
void read_shared(const void* from, int bytes, const Site& site);

// Copies to shared memory, zeros where `from` is null, at some time before the group is waited for.
void copy_async(void* to, const void* from, int bytes, const Site& site);
void commit_copies();
// Waits until at most `groups` of this thread's groups are in flight.
void wait_for_copies(int groups);

// Its index in the block; -1 in host code.
int current_thread();

}  // namespace sink::emulated
