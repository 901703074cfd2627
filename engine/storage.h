// The only place that asks the system for memory. Freed blocks of the CPU are kept and handed out again, so a training
// step in steady state asks for none: allocator_stats().system_allocations stands still. A device keeps its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/device.h"

namespace sink {

// One block of memory, of the CPU aligned to 64 bytes; it goes back to the cache, or to its device, when its last owner
// leaves.
struct Storage {
  void* data = nullptr;
  std::size_t bytes = 0;  // of the block, at least what was asked for
  Device device = Device::cpu;

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();
};

// Null where there is no such memory; refuse_memory says so.
std::shared_ptr<Storage> allocate(std::size_t bytes, Device device = Device::cpu);
// Throws OutOfMemory, naming the bytes that `what` asked for, those in use and those that the device has.
[[noreturn]] void refuse_memory(std::size_t bytes, const std::string& what, Device device);

struct AllocatorStats {
  std::uint64_t system_allocations = 0;  // blocks ever asked of the system; of the CPU
  std::size_t bytes_in_use = 0;          // handed out now
  std::size_t peak_bytes_in_use = 0;
  std::size_t bytes_reserved = 0;  // handed out or kept for reuse; of the CPU
};
AllocatorStats allocator_stats(Device device = Device::cpu);

// Gives every kept block back to the system.
void release_cached_memory();

}  // namespace sink
