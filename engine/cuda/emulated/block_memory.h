// The shared memory of one emulated block: NaN when a kernel begins, and nothing that it may touch around it.
#pragma once

#include <cstddef>

namespace sink::emulated {

inline constexpr std::size_t kMostShared = 227 << 10;  // that a block can have on sm_90

class BlockMemory {
 public:
  BlockMemory() = default;
  BlockMemory(const BlockMemory&) = delete;
  ~BlockMemory();

  // For a kernel that was launched with so many bytes, at most kMostShared.
  void prepare(std::size_t bytes);
  std::byte* begin() const { return mapped_ + kMapped - kPage - size_; }
  // What was asked for, up to the alignment.
  std::size_t size() const { return size_; }
  bool contains(const void* place, std::size_t bytes) const;
  // Whether nobody wrote between what was asked for and the alignment.
  bool end_is_whole() const;

 private:
  static constexpr std::size_t kPage = 4096;
  // It ends where a page begins that nobody may touch, and begins after one.
  static constexpr std::size_t kMapped = (kMostShared / kPage + 3) * kPage;

  std::byte* mapped_ = nullptr;
  std::size_t size_ = 0, asked_ = 0;
};

}  // namespace sink::emulated
