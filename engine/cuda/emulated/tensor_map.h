// A tensor map on the emulated device: what CUtensorMap describes on a GPU, for bf16.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sink::emulated {

struct TensorMap {
  const std::byte* data;
  int rank;
  std::array<std::int64_t, 4> sizes;    // in elements, the contiguous dimension first
  std::array<std::int64_t, 4> strides;  // in bytes
  std::array<int, 4> box;               // in elements
  int swizzle;                          // bytes of a swizzled row: 0 (none), 64 or 128
};

// Where the byte at this shared address is stored in a tile whose rows have `swizzle` bytes: chunk n of 16 bytes of row
// r is exchanged with chunk n ^ (r % 8), of rows of 64 bytes with n ^ (r / 2 % 4).
constexpr std::uint32_t swizzled(std::uint32_t address, int swizzle) {
  std::uint32_t chunks = swizzle == 0 ? 0 : static_cast<std::uint32_t>(swizzle) / 16 - 1;
  return address ^ (address >> 7 & chunks) << 4;
}

}  // namespace sink::emulated
