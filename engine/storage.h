// The memory of tensors. Freed CPU blocks are cached and reused, so that a training step in steady state makes no
// system allocation: allocator_stats().system_allocations is constant. A device has its own cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/device.h"

namespace sink {

// One block of memory, on the CPU aligned to 64 bytes. It is returned to the cache, or to its device, with its last
// owner.
struct Storage {
  void* data = nullptr;
  std::size_t bytes = 0;  // of the block, at least the requested size
  Device device = Device::cpu;
  bool borrowed = false;  // another library's, which frees it

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();
};

// Null where memory is exhausted; the caller then throws by refuse_memory.
std::shared_ptr<Storage> allocate(std::size_t bytes, Device device = Device::cpu);
// Throws OutOfMemory with the bytes requested for `what`, the bytes in use and the capacity of the device.
[[noreturn]] void refuse_memory(std::size_t bytes, const std::string& what, Device device);

struct AllocatorStats {
  std::uint64_t system_allocations = 0;  // blocks ever requested from the system; CPU only
  std::size_t bytes_in_use = 0;          // currently in use
  std::size_t peak_bytes_in_use = 0;
  std::size_t bytes_reserved = 0;  // in use or cached; CPU only
};
AllocatorStats allocator_stats(Device device = Device::cpu);

// Frees all cached blocks.
void release_cached_memory();

}  // namespace sink
