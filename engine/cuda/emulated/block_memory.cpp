// Shared memory of a block between guard pages. AddressSanitizer reports accesses outside the requested bytes.
#include "engine/cuda/emulated/block_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "engine/check.h"
#include "engine/cuda/emulated/poison.h"

namespace sink::emulated {
namespace {

constexpr unsigned char kFresh = 0xff;    // a NaN of any real type
constexpr unsigned char kPadding = 0xa5;  // after the requested bytes, up to the alignment

}  // namespace

BlockMemory::~BlockMemory() {
  if (!mapped_) return;
  unpoison(mapped_, kMapped);
  munmap(mapped_, kMapped);
}

void BlockMemory::prepare(std::size_t bytes) {
  if (!mapped_) {
    void* mapped = mmap(nullptr, kMapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SINK_CHECK(mapped != MAP_FAILED, "emulated device", "no memory for a block", Exit::out_of_memory);
    mapped_ = static_cast<std::byte*>(mapped);
    mprotect(mapped_ + kPage, kMapped - 2 * kPage, PROT_READ | PROT_WRITE);
  }
  unpoison(mapped_, kMapped);
  requested_ = bytes;
  size_ = (bytes + 127) / 128 * 128;
  std::memset(begin(), kFresh, bytes);
  std::memset(begin() + bytes, kPadding, size_ - bytes);
  poison(mapped_, static_cast<std::size_t>(begin() - mapped_));
  poison(begin() + bytes, size_ - bytes);
}

bool BlockMemory::contains(const void* p, std::size_t bytes) const {
  auto* first = static_cast<const std::byte*>(p);
  return first >= begin() && first + bytes <= begin() + size_;
}

bool BlockMemory::end_is_intact() const {
  return std::all_of(begin() + requested_, begin() + size_, [](std::byte b) { return b == std::byte{kPadding}; });
}

}  // namespace sink::emulated
