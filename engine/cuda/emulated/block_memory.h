// The shared memory of one emulated block: filled with NaN when the block starts, between guard pages.
#pragma once

#include <cstddef>

namespace sink::emulated {

inline constexpr std::size_t kMostShared = 227 << 10;  // that a block can have on sm_90

class BlockMemory {
 public:
  BlockMemory() = default;
  BlockMemory(const BlockMemory&) = delete;
  ~BlockMemory();

  // For a kernel launched with `bytes` of shared memory, at most kMostShared.
  void prepare(std::size_t bytes);
  std::byte* begin() const { return mapped_ + kMapped - kPage - size_; }
  // The launch's bytes, rounded up to the alignment.
  std::size_t size() const { return size_; }
  bool contains(const void* p, std::size_t bytes) const;
  // Whether the padding after the launch's bytes is unchanged.
  bool end_is_intact() const;

 private:
  static constexpr std::size_t kPage = 4096;
  // It ends at a guard page, and another one precedes it.
  static constexpr std::size_t kMapped = (kMostShared / kPage + 3) * kPage;

  std::byte* mapped_ = nullptr;
  std::size_t size_ = 0, requested_ = 0;
};

}  // namespace sink::emulated
