// Products of bf16 panels on the eight tiles of a core with AMX (Intel 64 Software Developer's Manual, TDPBF16PS).
// PlainTiles computes the same bits in plain loops, so that a processor without AMX can test what is built on them.
//
// One instruction adds to 16 x 16 sums the products of 16 words of depth (32 values). It sums the low and the high
// values of the words apart, each by fused multiply-adds from 0, and adds both to the sum; subnormal values are zero.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sink::cpu {

inline constexpr std::int64_t kAmxSide = 16;  // rows, words of a row and sums of a row of a tile

#if defined(__AMX_TILE__) && defined(__AMX_BF16__)

struct AmxTiles {
  // The system allows the tiles to a process that asks (Linux: Documentation/arch/x86/xstate.rst).
  static bool available() {
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    static const bool allowed = ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return allowed;
  }
  // Tiles have a configuration for each thread, which other libraries (oneDNN) change.
  AmxTiles() {
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } static constexpr kConfig;
    asm volatile("ldtilecfg %0" ::"m"(kConfig));
  }
  ~AmxTiles() { asm volatile("tilerelease"); }
  template <int kTo>
  void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTo));
  }
  template <int kTo>
  void load(const void* words, std::int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(words), "r"(4 * stride), "i"(kTo) : "memory");
  }
  template <int kFrom>
  void store(void* words, std::int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(words), "r"(4 * stride), "i"(kFrom) : "memory");
  }
  template <int kSums, int kA, int kB>
  void multiply_add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kA), "i"(kB));
  }
};

#else

struct AmxTiles;  // the compiler's target has none

#endif

class PlainTiles {
 public:
  template <int kTo>
  void zero() {
    tiles_[kTo] = {};
  }
  template <int kTo>
  void load(const void* words, std::int64_t stride) {
    const auto* from = static_cast<const char*>(words);
    for (int row = 0; row < kAmxSide; ++row) __builtin_memcpy(tiles_[kTo][row].data(), from + 4 * stride * row, 64);
  }
  template <int kFrom>
  void store(void* words, std::int64_t stride) {
    auto* to = static_cast<char*>(words);
    for (int row = 0; row < kAmxSide; ++row) __builtin_memcpy(to + 4 * stride * row, tiles_[kFrom][row].data(), 64);
  }
  template <int kSums, int kA, int kB>
  void multiply_add() {
    for (int row = 0; row < kAmxSide; ++row)
      for (int column = 0; column < kAmxSide; ++column) {
        float low = 0, high = 0;
        for (int k = 0; k < kAmxSide; ++k) {
          const std::uint32_t a = tiles_[kA][row][k], b = tiles_[kB][k][column];
          low = normal(std::fma(value(a << 16), value(b << 16), low));
          high = normal(std::fma(value(a & 0xffff0000u), value(b & 0xffff0000u), high));
        }
        std::uint32_t& sum = tiles_[kSums][row][column];
        sum = std::bit_cast<std::uint32_t>(normal(value(sum) + normal(low + high)));
      }
  }

 private:
  static float normal(float x) { return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }
  static float value(std::uint32_t bits) { return normal(std::bit_cast<float>(bits)); }

  std::array<std::array<std::array<std::uint32_t, kAmxSide>, kAmxSide>, 8> tiles_{};
};

// Sums of kRows x kColumns tiles: C (+)= A B. Rows of A hold `depth` words, rows of B kColumns x 16 words.
template <int kRows, int kColumns, class Tiles>
void multiply_block(Tiles& tiles, const std::uint32_t* a, std::int64_t a_stride, const std::uint32_t* b,
                    std::int64_t b_stride, float* c, std::int64_t c_stride, std::int64_t depth, bool add) {
  float* c_low = c + kAmxSide * c_stride;
  if (add) {
    tiles.template load<0>(c, c_stride);
    if constexpr (kColumns == 2) tiles.template load<1>(c + kAmxSide, c_stride);
    if constexpr (kRows == 2) tiles.template load<2>(c_low, c_stride);
    if constexpr (kRows == 2 && kColumns == 2) tiles.template load<3>(c_low + kAmxSide, c_stride);
  } else {
    tiles.template zero<0>();
    if constexpr (kColumns == 2) tiles.template zero<1>();
    if constexpr (kRows == 2) tiles.template zero<2>();
    if constexpr (kRows == 2 && kColumns == 2) tiles.template zero<3>();
  }
  for (std::int64_t k = 0; k < depth; k += kAmxSide) {
    tiles.template load<6>(b + k * b_stride, b_stride);
    tiles.template load<4>(a + k, a_stride);
    tiles.template multiply_add<0, 4, 6>();
    if constexpr (kColumns == 2) {
      tiles.template load<7>(b + k * b_stride + kAmxSide, b_stride);
      tiles.template multiply_add<1, 4, 7>();
    }
    if constexpr (kRows == 2) {
      tiles.template load<5>(a + kAmxSide * a_stride + k, a_stride);
      tiles.template multiply_add<2, 5, 6>();
      if constexpr (kColumns == 2) tiles.template multiply_add<3, 5, 7>();
    }
  }
  tiles.template store<0>(c, c_stride);
  if constexpr (kColumns == 2) tiles.template store<1>(c + kAmxSide, c_stride);
  if constexpr (kRows == 2) tiles.template store<2>(c_low, c_stride);
  if constexpr (kRows == 2 && kColumns == 2) tiles.template store<3>(c_low + kAmxSide, c_stride);
}

// C[rows x columns] = A B, or += if `add`, for at most 32 rows. rows, columns and depth (in words) are multiples of 16.
template <class Tiles>
void multiply_tiles(Tiles& tiles, const std::uint32_t* a, std::int64_t a_stride, const std::uint32_t* b,
                    std::int64_t b_stride, float* c, std::int64_t c_stride, std::int64_t rows, std::int64_t columns,
                    std::int64_t depth, bool add) {
  for (std::int64_t n = 0; n < columns;) {
    auto block = [&]<int kColumns>(std::integral_constant<int, kColumns>) {
      auto multiply = rows > kAmxSide ? multiply_block<2, kColumns, Tiles> : multiply_block<1, kColumns, Tiles>;
      multiply(tiles, a, a_stride, b + n, b_stride, c + n, c_stride, depth, add);
      n += kColumns * kAmxSide;
    };
    if (columns - n > kAmxSide)
      block(std::integral_constant<int, 2>{});
    else
      block(std::integral_constant<int, 1>{});
  }
}

}  // namespace sink::cpu
