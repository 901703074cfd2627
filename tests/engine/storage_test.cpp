// Memory: blocks are reused, counted and refused with a message.
#include "engine/storage.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/tensor.h"
#include "tests/support/check_refused.h"

using namespace sink;

TEST_CASE("storage: a freed block of the same size is handed out again") {
  for (std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20}) {
    release_cached_memory();
    auto first = allocate(bytes);
    void* data = first->data;
    std::uint64_t asked = allocator_stats().system_allocations;
    first.reset();
    auto second = allocate(bytes);
    CHECK(second->data == data);
    CHECK(allocator_stats().system_allocations == asked);
    auto third = allocate(bytes);  // the block is in use
    CHECK(third->data != data);
    CHECK(allocator_stats().system_allocations == asked + 1);
  }
}

TEST_CASE("storage: a block that would waste more than a quarter is left alone") {
  release_cached_memory();
  allocate(1 << 16).reset();
  std::uint64_t asked = allocator_stats().system_allocations;
  auto small = allocate(1 << 14);
  CHECK(allocator_stats().system_allocations == asked + 1);
  auto nearly = allocate((1 << 16) - (1 << 12));
  CHECK(allocator_stats().system_allocations == asked + 1);
  CHECK(nearly->bytes == 1 << 16);
}

TEST_CASE("storage: blocks are aligned, as large as asked and writable") {
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{65}, (std::size_t{2} << 20) + 1}) {
    auto block = allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(block->data) % 64 == 0);
    CHECK(block->bytes >= bytes);
    std::memset(block->data, 1, block->bytes);
  }
}

TEST_CASE("storage: use, peak and reserve are counted") {
  release_cached_memory();
  AllocatorStats before = allocator_stats();
  auto block = allocate(64 * 1000);
  AllocatorStats during = allocator_stats();
  CHECK(during.bytes_in_use == before.bytes_in_use + 64000);
  CHECK(during.bytes_reserved == before.bytes_reserved + 64000);
  CHECK(during.peak_bytes_in_use >= during.bytes_in_use);
  block.reset();
  CHECK(allocator_stats().bytes_in_use == before.bytes_in_use);
  CHECK(allocator_stats().bytes_reserved == during.bytes_reserved);
  release_cached_memory();
  CHECK(allocator_stats().bytes_reserved == before.bytes_reserved);
}

TEST_CASE("storage: too much is refused with the sizes and its own exit code") {
  AllocatorStats before = allocator_stats();
  check_refused(
      [] {
        Tensor::empty({1 << 10, std::int64_t{1} << 37}, DType::F64);
      },
      {"out of memory: asked for 1048576.0 GiB for a tensor f64 (1024, 137438953472) while ", " are in use"},
      Exit::out_of_memory);
  CHECK(allocator_stats().bytes_in_use == before.bytes_in_use);
  CHECK(allocator_stats().system_allocations == before.system_allocations);
}

TEST_CASE("storage: a request next to the largest number is refused, not wrapped around") {
  CHECK(allocate(std::numeric_limits<std::size_t>::max()) == nullptr);
}
