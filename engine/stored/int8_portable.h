// Integer products as plain loops: the types of weights, and the kernel for processors without VNNI.
//
// A kernel turns 256 columns of sixteen rows of W into a panel, which it multiplies with rows of x.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/stored/int8_product.h"
#include "engine/stored/stored_blocks.h"
#include "engine/threads.h"

namespace sink::int8 {

inline constexpr int kLanes = 16;  // rows of W

struct alignas(64) Panel {
  std::uint32_t words[64][kLanes];  // the codes of four columns of a row
  float scales[16][kLanes];         // of each group
  float minima[8][kLanes];
};

// Types: weights that share a scale, the offset of codes, whether there are minima, and the parts of a block.
struct Q4K {
  static constexpr StoredType type = StoredType::Q4_K;
  static constexpr int sharing = 32, offset = 0;
  static constexpr bool has_minima = true;
  static int code(const unsigned char* block, int i) {
    return block[16 + 32 * (i / 64) + i % 32] >> 4 * (i / 32 % 2) & 15;
  }
  static float scale(const unsigned char* block, int group) { return scales(block).of[group]; }
  static float minimum(const unsigned char* block, int group) { return -scales(block).of[group + 8]; }
  static blocks::GroupScales scales(const unsigned char* block) {
    return blocks::six_bit_scales(block + 4, blocks::f16_at(block), blocks::f16_at(block + 2));
  }
};
struct Q6K {
  static constexpr StoredType type = StoredType::Q6_K;
  static constexpr int sharing = 16, offset = 32;
  static constexpr bool has_minima = false;
  static int code(const unsigned char* block, int i) {
    const int half = i / 128, group = i / 32 % 4;
    const int low = block[64 * half + 32 * (group % 2) + i % 32] >> group / 2 * 4 & 15;
    return low | (block[128 + 32 * half + i % 32] >> 2 * group & 3) << 4;
  }
  static float scale(const unsigned char* block, int group) {
    return blocks::f16_at(block + 208) * static_cast<float>(static_cast<std::int8_t>(block[192 + group]));
  }
  static float minimum(const unsigned char*, int) { return 0; }
};
struct Q8 {
  static constexpr StoredType type = StoredType::Q8_0;
  static constexpr int sharing = 32, offset = 128, codes_at = 2;
  static constexpr bool has_minima = false;
  static int code(const unsigned char* block, int i) { return block[codes_at + i] ^ 128; }
  static float scale(const unsigned char* block, int) { return blocks::f16_at(block); }
  static float minimum(const unsigned char*, int) { return 0; }
};
struct Q40 {
  static constexpr StoredType type = StoredType::Q4_0;
  static constexpr int sharing = 32, offset = 8, codes_at = 2;
  static constexpr bool has_minima = false;
  static int code(const unsigned char* block, int i) { return block[codes_at + i % 16] >> i / 16 * 4 & 15; }
  static float scale(const unsigned char* block, int) { return blocks::f16_at(block); }
  static float minimum(const unsigned char*, int) { return 0; }
};
struct Q41 {
  static constexpr StoredType type = StoredType::Q4_1;
  static constexpr int sharing = 32, offset = 0, codes_at = 4;
  static constexpr bool has_minima = true;
  static int code(const unsigned char* block, int i) { return block[codes_at + i % 16] >> i / 16 * 4 & 15; }
  static float scale(const unsigned char* block, int) { return blocks::f16_at(block); }
  static float minimum(const unsigned char* block, int) { return blocks::f16_at(block + 2); }
};
// Codes are twice the values of E2M1, and 12 more.
struct Mxfp4 {
  static constexpr StoredType type = StoredType::MXFP4;
  static constexpr int sharing = 32, offset = 12, codes_at = 1;
  static constexpr bool has_minima = false;
  static int code(const unsigned char* block, int i) {
    return offset + blocks::kTwiceE2m1[block[codes_at + i % 16] >> i / 16 * 4 & 15];
  }
  static float scale(const unsigned char* block, int) { return blocks::half_of_e8m0(block[0]); }
  static float minimum(const unsigned char*, int) { return 0; }
};

template <class F>
void for_each_type(F&& f) {
  f(Q8{}), f(Q40{}), f(Q41{}), f(Q4K{}), f(Q6K{}), f(Mxfp4{});
}
// f(T{}) for the T of this type; false: there is none.
template <class F>
bool with_type(StoredType type, F&& f) {
  bool found = false;
  for_each_type([&]<class T>(T t) {
    if (type == T::type) f(t), found = true;
  });
  return found;
}

struct Portable {
  // The panel of `columns` columns, from these addresses on, one of each row.
  template <class T>
  static void unpack(const unsigned char* const* rows, int columns, Panel& panel) {
    constexpr StoredLayout layout = layout_of(T::type);
    for (int lane = 0; lane < kLanes; ++lane) {
      auto* codes = reinterpret_cast<unsigned char*>(panel.words);
      for (int i = 0; i < columns; ++i) {
        const unsigned char* block = rows[lane] + i / layout.elements * layout.bytes;
        const int in_block = i % layout.elements;
        codes[(i / 4 * kLanes + lane) * 4 + i % 4] = static_cast<unsigned char>(T::code(block, in_block));
        if (i % T::sharing == 0) panel.scales[i / T::sharing][lane] = T::scale(block, in_block / T::sharing);
        if (T::has_minima && i % 32 == 0) panel.minima[i / 32][lane] = T::minimum(block, in_block / 32);
      }
    }
  }

  // y[16 m + lane] += x_m . row `lane` of the panel.
  template <class T>
  static void multiply(const Panel& panel, int columns, const Int8Block* x, std::int64_t count, float* y) {
    const auto* codes = reinterpret_cast<const unsigned char*>(panel.words);
    for (std::int64_t m = 0; m < count; ++m)
      for (int group = 0; group < columns / T::sharing; ++group)
        for (int lane = 0; lane < kLanes; ++lane) {
          std::int32_t sum = x[m].starts[group];
          for (int i = group * T::sharing; i < (group + 1) * T::sharing; ++i)
            sum += x[m].codes[i] * codes[(i / 4 * kLanes + lane) * 4 + i % 4];
          const int of_x = group * T::sharing / 32;
          float& to = y[kLanes * m + lane];
          to = std::fma(panel.scales[group][lane], x[m].scales[of_x] * static_cast<float>(sum), to);
          if (T::has_minima) to = std::fma(panel.minima[group][lane], x[m].sums[of_x], to);
        }
  }
};

// The product of int8_product.h by a kernel.
template <class Kernel>
void product(const Int8Input& x, const StoredPart& part, std::int64_t first, std::int64_t count, float* y,
             std::int64_t stride) {
  constexpr std::int64_t kRowsAtOnce = 512;  // of x, whose sums stay in the cache
  const StoredLayout& layout = layout_of(x.type);
  auto tile = [&]<class T>(T, std::int64_t n, Panel& panel, std::vector<float>& sums) {
    const std::int64_t rows = std::min<std::int64_t>(kLanes, count - n);
    for (std::int64_t begin = 0; begin < x.rows; begin += kRowsAtOnce) {
      const std::int64_t many = std::min(kRowsAtOnce, x.rows - begin);
      std::fill_n(sums.data(), many * kLanes, 0.0f);
      for (std::int64_t column = 0; column < x.columns; column += kInt8Columns) {
        const unsigned char* from[kLanes];  // beyond the last row, that row again
        for (std::int64_t lane = 0; lane < kLanes; ++lane)
          from[lane] = part.lines[static_cast<std::size_t>(first + n + std::min(lane, rows - 1))] +
                       column / layout.elements * layout.bytes;
        const int columns = static_cast<int>(std::min<std::int64_t>(kInt8Columns, x.columns - column));
        // The rows of the next tile: sixteen streams at once are more than the processor prefetches by itself.
        const std::int64_t next = std::min(n + kLanes, count - 1), bytes = columns / layout.elements * layout.bytes;
        for (std::int64_t lane = 0; lane < kLanes && begin == 0; ++lane) {
          const unsigned char* row = part.lines[static_cast<std::size_t>(first + std::min(next + lane, count - 1))] +
                                     column / layout.elements * layout.bytes;
          for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at);
        }
        Kernel::template unpack<T>(from, columns, panel);
        Kernel::template multiply<T>(panel, columns, &x.blocks[column / kInt8Columns * x.rows + begin], many,
                                     sums.data());
      }
      for (std::int64_t m = 0; m < many; ++m) std::copy_n(sums.data() + m * kLanes, rows, y + (begin + m) * stride + n);
    }
  };
  with_type(x.type, [&]<class T>(T type) {
    if constexpr (requires { &Kernel::template one_row<T>; })
      if (x.rows == 1) return Kernel::template one_row<T>(x, part, first, count, y);
    parallel_chunks((count + kLanes - 1) / kLanes, 1, [&](std::int64_t begin, std::int64_t end) {
      Panel panel;
      std::vector<float> sums(static_cast<std::size_t>(std::min(kRowsAtOnce, x.rows) * kLanes));
      for (std::int64_t n = begin; n < end; ++n) tile(type, n * kLanes, panel, sums);
    });
  });
}

}  // namespace sink::int8
