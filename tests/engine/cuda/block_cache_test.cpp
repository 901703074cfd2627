// Memory of a GPU without memory pools, with a heap in the place of cudaMalloc.
#include "engine/cuda/nvidia/block_cache.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

using sink::nvidia::BlockCache;

namespace {

// A heap of `capacity` bytes.
std::size_t capacity, in_use, allocations;
std::map<void*, std::size_t> blocks;

void* allocate(std::size_t bytes) {
  if (in_use + bytes > capacity) return nullptr;
  void* memory = std::malloc(bytes);
  blocks[memory] = bytes;
  in_use += bytes;
  ++allocations;
  return memory;
}
void release(void* memory) {
  in_use -= blocks.at(memory);
  blocks.erase(memory);
  std::free(memory);
}
void reset(std::size_t bytes) {
  capacity = bytes;
  in_use = allocations = 0;
  blocks.clear();
}

}  // namespace

TEST_CASE("block cache: a freed block is reused if at most a quarter is wasted") {
  reset(1 << 20);
  BlockCache cache(allocate, release);
  void* first = cache.allocate(4096);
  cache.release(first);
  CHECK(cache.allocate(3300) == first);  // 3584 of 4096
  cache.release(first);
  void* other = cache.allocate(2048);
  CHECK(other != first);
  CHECK(allocations == 2);
  cache.release(other);
  cache.trim();
  CHECK(in_use == 0);
}

TEST_CASE("block cache: blocks in use are distinct, and an empty one has an address") {
  reset(1 << 20);
  BlockCache cache(allocate, release);
  std::set<void*> all;
  for (int round = 0; round < 2; ++round) {
    all.clear();
    for (std::size_t n = 0; n < 20; ++n) all.insert(cache.allocate(n * 100));
    CHECK(all.size() == 20);
    CHECK(all.count(nullptr) == 0);
    for (void* memory : all) cache.release(memory);
  }
  CHECK(allocations == 20);
  cache.trim();
  CHECK(in_use == 0);
}

TEST_CASE("block cache: where memory is exhausted, kept blocks are released first, then the answer is null") {
  reset(8192);
  BlockCache cache(allocate, release);
  void* small = cache.allocate(1024);
  cache.release(small);
  void* large = cache.allocate(8192);
  CHECK(large != nullptr);
  CHECK(cache.allocate(512) == nullptr);
  cache.release(large);
  CHECK(cache.allocate(8192) == large);
  cache.release(nullptr);  // of a tensor that was never allocated
  cache.release(large);
  cache.trim();
  CHECK(in_use == 0);
}
