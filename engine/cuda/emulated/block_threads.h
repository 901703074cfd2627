// The threads of the block that runs, for the emulation of instructions that wait (mbarriers.h, named_barriers.h,
// wgmma.h). A thread that must wait suspends itself; the thread that ends its wait resumes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/cuda/emulated/keywords.h"

namespace sink::emulated {

int threads_of_block();

// Suspends the current thread until another one, or an asynchronous copy, has resumed it.
void suspend();
void resume(int thread);

// Records what the current thread does, for messages.
void set_instruction(const char* instruction, const Site& site);
// Ends the kernel with an Error: the message, then the current thread and what it does.
[[noreturn]] void stop_thread(const std::string& message);
// The same without a thread, for what no thread does.
[[noreturn]] void stop_block(const std::string& message);
// "tests/x.cpp:12", of a message.
std::string text_of(const Site& site);

// A number below `below` that the schedule chooses: 0 in schedule 0, the largest in schedule 1, otherwise random.
std::uint64_t chosen(std::uint64_t below);

// Ends the kernel unless these bytes are in the block's shared memory and aligned to `alignment`.
void check_shared(const void* address, std::size_t bytes, unsigned alignment, const char* what);

// The address of an instruction that takes shared memory as a number of 32 bits, and back. The shared memory of a block
// begins at a multiple of 128 bytes, not of 1024, as on a GPU where a kernel has other shared memory too.
std::uint32_t shared_address(const void* address);
std::byte* at_shared_address(std::uint32_t address);

}  // namespace sink::emulated
