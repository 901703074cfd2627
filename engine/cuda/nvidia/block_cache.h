// Freed blocks of a GPU without memory pools, kept for reuse because every cudaFree waits for the GPU. A block may be
// reused at once: all work is on one stream, so what used it before is done before what uses it next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>

namespace sink::nvidia {

class BlockCache {
 public:
  using Allocate = void* (*)(std::size_t bytes);  // null where memory is exhausted
  using Release = void (*)(void* memory);

  BlockCache(Allocate allocate, Release release) : allocate_(allocate), release_(release) {}

  // Null where memory is exhausted, after all kept blocks were released. A kept block serves if at most a quarter of it
  // is wasted.
  void* allocate(std::size_t bytes) {
    bytes = (std::max<std::size_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
    std::lock_guard lock(mutex_);
    auto kept = kept_.lower_bound(bytes);
    if (kept != kept_.end() && kept->first <= bytes + bytes / 4) {
      void* memory = kept->second;
      in_use_.emplace(memory, kept->first);
      kept_.erase(kept);
      return memory;
    }
    void* memory = allocate_(bytes);
    if (!memory) {
      release_kept();
      memory = allocate_(bytes);
    }
    if (memory) in_use_.emplace(memory, bytes);
    return memory;
  }

  void release(void* memory) {
    std::lock_guard lock(mutex_);
    auto block = in_use_.find(memory);
    if (block == in_use_.end()) return;
    kept_.emplace(block->second, memory);
    in_use_.erase(block);
  }

  // Returns all kept blocks.
  void trim() {
    std::lock_guard lock(mutex_);
    release_kept();
  }

 private:
  static constexpr std::size_t kUnit = 512;  // cudaMalloc's

  void release_kept() {
    for (const auto& [bytes, memory] : kept_) release_(memory);
    kept_.clear();
  }

  Allocate allocate_;
  Release release_;
  std::mutex mutex_;
  std::map<void*, std::size_t> in_use_;
  std::multimap<std::size_t, void*> kept_;  // by size
};

}  // namespace sink::nvidia
