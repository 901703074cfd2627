#include "engine/storage.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "engine/check.h"
#include "engine/recording.h"

namespace sink {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// A kept block serves a request if at most a quarter of it is wasted (small ones always round up to 64 bytes).
std::size_t largest_fit(std::size_t bytes) { return bytes + bytes / 4; }

// More than any machine has; beyond it, rounding up could wrap around.
constexpr std::size_t kMostBytes = std::size_t{1} << 48;

// "3.0 GiB", "640.5 MiB", "1.2 KiB"
std::string text_of(std::size_t bytes) {
  const char* unit = bytes >> 30 ? "GiB" : bytes >> 20 ? "MiB" : "KiB";
  char text[40];
  std::snprintf(text, sizeof text, "%.1f %s", std::ldexp(bytes, bytes >> 30 ? -30 : bytes >> 20 ? -20 : -10), unit);
  return text;
}

struct Cache {
  std::mutex mutex;
  std::multimap<std::size_t, void*> free_blocks;  // by size
  AllocatorStats stats, of_device;
};

// Never destroyed: tensors of static lifetime may outlive any order of destruction. A fork() waits for the thread that
// has the lock, since no thread of the child would release it.
Cache& cache() {
  static Cache* instance = [] {
    pthread_atfork([] { cache().mutex.lock(); }, [] { cache().mutex.unlock(); }, [] { cache().mutex.unlock(); });
    return new Cache;
  }();
  return *instance;
}

void* ask_system(std::size_t bytes) {
  bool huge = bytes >= kHugePage;
  void* data = std::aligned_alloc(huge ? kHugePage : kAlignment, bytes);
  if (data && huge) madvise(data, bytes, MADV_HUGEPAGE);  // fewer TLB misses; a refusal costs nothing
  return data;
}

void release_locked(Cache& c) {
  for (auto& [bytes, data] : c.free_blocks) {
    std::free(data);
    c.stats.bytes_reserved -= bytes;
  }
  c.free_blocks.clear();
}

void count(AllocatorStats& stats, std::size_t bytes) {
  stats.bytes_in_use += bytes;
  stats.peak_bytes_in_use = std::max(stats.peak_bytes_in_use, stats.bytes_in_use);
}

std::shared_ptr<Storage> allocate_on(Device device, std::size_t bytes) {
  auto storage = std::make_shared<Storage>();
  storage->device = device;
  storage->data = memory_of(device).allocate(bytes);
  if (!storage->data) return nullptr;
  storage->bytes = bytes;
  note_allocated(storage->data);
  std::lock_guard lock(cache().mutex);
  count(cache().of_device, bytes);
  return storage;
}

}  // namespace

Storage::~Storage() {
  if (!data || borrowed) return;
  if (device != Device::cpu) {
    note_released(data);
    memory_of(device).release(data);
    std::lock_guard lock(cache().mutex);
    cache().of_device.bytes_in_use -= bytes;
    return;
  }
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  c.free_blocks.emplace(bytes, data);
  c.stats.bytes_in_use -= bytes;
}

std::shared_ptr<Storage> allocate(std::size_t bytes, Device device) {
  if (device != Device::cpu) return allocate_on(device, bytes);
  std::size_t unit = bytes >= kHugePage ? kHugePage : kAlignment;
  if (bytes > kMostBytes) return nullptr;
  bytes = std::max<std::size_t>((bytes + unit - 1) / unit * unit, kAlignment);
  auto storage = std::make_shared<Storage>();
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  auto block = c.free_blocks.lower_bound(bytes);
  if (block != c.free_blocks.end() && block->first <= largest_fit(bytes)) {
    storage->bytes = block->first;
    storage->data = block->second;
    c.free_blocks.erase(block);
  } else {
    void* data = ask_system(bytes);
    if (!data) {  // what is kept for reuse may be what is missing
      release_locked(c);
      data = ask_system(bytes);
    }
    if (!data) return nullptr;
    storage->data = data;
    storage->bytes = bytes;
    c.stats.bytes_reserved += bytes;
    ++c.stats.system_allocations;
  }
  count(c.stats, storage->bytes);
  return storage;
}

void refuse_memory(std::size_t bytes, const std::string& what, Device device) {
  std::size_t has = device == Device::cpu ? 0 : memory_of(device).capacity();
  throw OutOfMemory("out of memory" + (device == Device::cpu ? "" : " on " + description_of(device)) + ": asked for " +
                    text_of(bytes) + " for " + what + " while " + text_of(allocator_stats(device).bytes_in_use) +
                    " are in use" + (has > 0 ? ", of " + text_of(has) : ""));
}

AllocatorStats allocator_stats(Device device) {
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  return device == Device::cpu ? c.stats : c.of_device;
}

void release_cached_memory() {
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  release_locked(c);
}

}  // namespace sink
