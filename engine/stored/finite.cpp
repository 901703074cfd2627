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

// Blocks of 32 that are decoded where the largest value that their scale allows would be infinite: where
// is_large(block).
template <class IsLarge>
std::int64_t first_decoded_beyond(StoredType type, const unsigned char* from, std::int64_t count, IsLarge is_large) {
  const StoredLayout& block = layout_of(type);
  for (std::int64_t i = 0; i < count; i += block.elements, from += block.bytes) {
    if (!is_large(from)) continue;
    float x[32];
    decode(type, from, block.elements, x);
    for (int n = 0; n < 32; ++n)
      if (!std::isfinite(x[n])) return i + n;
  }
  return -1;
}

// 6 times a scale of 2^126.
bool is_large_mxfp4(const unsigned char* block) { return block[0] > 252; }
// NaN too: 15 times a scale of 2^120 and a minimum, 480 (a code without a value) times 2^8.
bool is_large_f32(const unsigned char* block, int numbers) {
  bool large = false;
  for (int n = 0; n < numbers; ++n) large |= !(std::abs(blocks::f32_at(block + 4 * n)) < 0x1p110f);
  return large;
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
  if (type == TQ1_0) return first_block_beyond(block, from, count, {52});
  if (type == TQ2_0) return first_block_beyond(block, from, count, {64});
  if (type == Q6_K) return first_block_beyond(block, from, count, {208});
  if (type == F8_E4M3) return first_beyond<std::uint8_t>(from, count, 0x7f);
  if (type == MXFP4) return first_decoded_beyond(type, from, count, is_large_mxfp4);
  if (type == Scaled4)
    return first_decoded_beyond(type, from, count, [](const unsigned char* block) { return is_large_f32(block, 2); });
  if (type == ScaledF8)
    return first_decoded_beyond(type, from, count, [](const unsigned char* block) { return is_large_f32(block, 1); });
  if (type == Q8_0 || type == Q4_0 || type == Q5_0 || type == IQ4_NL || type == IQ4_XS)
    return first_block_beyond(block, from, count, {0});
  if (block.elements > 1) return first_block_beyond(block, from, count, {0, 2});  // a scale and a minimum
  return -1;                                                                      // integers
}

}  // namespace sink
