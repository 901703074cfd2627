// Finds stored values that are NaN or infinite.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "engine/stored/stored_blocks.h"
#include "engine/stored/stored_type.h"

namespace sink {
namespace {

// The least magnitudes that are not finite, as bits: all of the exponent, none of the fraction.
constexpr std::uint16_t kInfinityF16 = 0x7c00, kInfinityBf16 = 0x7f80;
constexpr std::uint32_t kInfinityF32 = 0x7f800000;
constexpr std::uint64_t kRoundsToInfinityF32 = 0x47effffff0000000;  // of an F64: 2^128 - 2^103, half a step below 2^128

// The first of `count` values, `stride` bytes apart, whose magnitude has bits of at least `limit`; -1: none. The inner
// loop has no branch, so that it is vectorised.
template <class Bits>
std::int64_t first_beyond(const unsigned char* from, std::int64_t stride, std::int64_t count, Bits limit) {
  constexpr std::int64_t kRun = 4096;
  const Bits magnitude = static_cast<Bits>(~Bits{0}) >> 1;
  auto beyond = [&](std::int64_t i) {
    Bits bits;
    std::memcpy(&bits, from + i * stride, sizeof bits);
    return static_cast<Bits>(bits & magnitude) >= limit;
  };
  for (std::int64_t begin = 0; begin < count; begin += kRun) {
    const std::int64_t end = std::min(count, begin + kRun);
    bool any = false;
    for (std::int64_t i = begin; i < end; ++i) any |= beyond(i);
    if (!any) continue;
    for (std::int64_t i = begin; i < end; ++i)
      if (beyond(i)) return i;
  }
  return -1;
}

template <class Bits>
std::int64_t first_beyond(const unsigned char* from, std::int64_t count, Bits limit) {
  return first_beyond(from, static_cast<std::int64_t>(sizeof limit), count, limit);
}

// Blocks with an f16 at each of these byte offsets.
std::int64_t first_block_beyond(const StoredLayout& block, const unsigned char* from, std::int64_t count,
                                std::initializer_list<int> offsets) {
  std::int64_t first = -1;
  for (int offset : offsets) {
    const std::int64_t found =
        first_beyond<std::uint16_t>(from + offset, block.bytes, count / block.elements, kInfinityF16);
    if (found >= 0 && (first < 0 || found * block.elements < first)) first = found * block.elements;
  }
  return first;
}

// A block of MXFP4 is decoded where its largest value, 6 times the scale, would be infinite: from a scale of 2^126 on.
std::int64_t first_mxfp4_beyond(const unsigned char* from, std::int64_t count) {
  constexpr unsigned char kLargestFinite = 252;
  const StoredLayout& block = layout_of(StoredType::MXFP4);
  for (std::int64_t i = 0; i < count; i += block.elements, from += block.bytes) {
    if (from[0] <= kLargestFinite) continue;
    float x[32];
    blocks::decode_mxfp4(from, blocks::put_into(x));
    for (int n = 0; n < 32; ++n)
      if (!std::isfinite(x[n])) return i + n;
  }
  return -1;
}

}  // namespace

std::int64_t first_not_finite(StoredType type, const unsigned char* from, std::int64_t count) {
  using enum StoredType;
  const StoredLayout& block = layout_of(type);
  if (type == F64) return first_beyond(from, count, kRoundsToInfinityF32);
  if (type == F32) return first_beyond(from, count, kInfinityF32);
  if (type == F16) return first_beyond(from, count, kInfinityF16);
  if (type == BF16) return first_beyond(from, count, kInfinityBf16);
  if (type == Q2_K) return first_block_beyond(block, from, count, {80, 82});
  if (type == Q3_K) return first_block_beyond(block, from, count, {108});
  if (type == Q6_K) return first_block_beyond(block, from, count, {208});
  if (type == MXFP4) return first_mxfp4_beyond(from, count);
  if (type == Q8_0 || type == Q4_0 || type == Q5_0 || type == IQ4_NL || type == IQ4_XS)
    return first_block_beyond(block, from, count, {0});
  if (block.elements > 1) return first_block_beyond(block, from, count, {0, 2});  // a scale and a minimum
  return -1;                                                                      // integers
}

}  // namespace sink
