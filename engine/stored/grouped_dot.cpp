// A block of 256 has four steps. A step has sixteen words of 32 bits, one for each lane; a word has the codes of four
// elements that follow each other. So bytes need not be widened: x is brought into the order of the words once.
#include "engine/stored/grouped_dot.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "engine/stored/stored_blocks.h"

namespace sink {
#ifdef __AVX512F__
namespace {

using blocks::codes_at;
using blocks::f16_at;
using blocks::Floats;
using blocks::floats_at;
using blocks::floats_of;
using blocks::floats_of_signed;
using blocks::Integers;

constexpr int kWeights = 256, kSteps = 4, kWords = 16, kPrepared = 272;
constexpr int kRows = 2;  // at once; four need more registers than there are

Integers words_at(const void* bytes) {
  Integers words;
  std::memcpy(&words, bytes, sizeof words);
  return words;
}
// Lanes i and i + 8 have the same word.
Integers eight_words_twice(const unsigned char* bytes) {
  return reinterpret_cast<Integers>(
      _mm512_maskz_broadcast_i64x4(0xff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes))));
}
// `lower` in lanes 0 to 7, `upper` in lanes 8 to 15; of memory, since made of scalars it would be stored and loaded.
template <int lower, int upper>
Integers halves_of() {
  alignas(64) static constexpr int lanes[] = {lower, lower, lower, lower, lower, lower, lower, lower,
                                              upper, upper, upper, upper, upper, upper, upper, upper};
  return words_at(lanes);
}

// Code b of each word, with nothing but zeros above its bits.
template <int b>
Floats code_of(const Integers& words) {
  return floats_of((words >> 8 * b) & 255);
}

using Lanes = std::array<int, kWords>;

// What a type is made of: the words of a step; the group of 32 that each lane of it has, eight words for each; how many
// elements share a scale; in scales_and_minima, the scales and what the sums of x are multiplied by. `offset` is
// subtracted from every code, by way of the sums. With `looks_up` a code has four bits and is looked up in a table,
// which reads no other bits: the words of two steps are the same, with the codes of the first in the lower four bits.
struct Q4K {
  static constexpr StoredType type = StoredType::Q4_K;
  static constexpr bool looks_up = true;
  static constexpr int sharing = 32, offset = 0;
  static constexpr int group(int step, int lane) { return 4 * (step / 2) + 2 * (lane / 8) + step % 2; }
  template <int step>
  static Integers words(const unsigned char* block) {
    return words_at(block + 16 + 64 * (step / 2));
  }
  // The minima are in lanes 8 to 15.
  static void scales_and_minima(const unsigned char* block, Floats& scales, Floats& minima) {
    minima = scales = floats_at(blocks::six_bit_scales(block + 4, f16_at(block), f16_at(block + 2)).of);
  }
};
struct Q5K {
  static constexpr StoredType type = StoredType::Q5_K;
  static constexpr int sharing = 32, offset = 0;
  static constexpr int group(int step, int lane) { return Q4K::group(step, lane); }
  template <int step>
  static Integers words(const unsigned char* block) {
    const Integers low = (words_at(block + 48 + 64 * (step / 2)) >> 4 * (step % 2)) & 0x0f0f0f0f;
    const Integers fifth = eight_words_twice(block + 16) >> halves_of<group(step, 0), group(step, 8)>();
    return low | ((fifth & 0x01010101) << 4);
  }
  static void scales_and_minima(const unsigned char* block, Floats& scales, Floats& minima) {
    Q4K::scales_and_minima(block, scales, minima);
  }
};
struct Q6K {
  static constexpr StoredType type = StoredType::Q6_K;
  static constexpr int sharing = 16, offset = 32;
  static constexpr int group(int step, int lane) { return 2 * step + lane / 8; }
  template <int step>
  static Integers words(const unsigned char* block) {
    const Integers low = (words_at(block + 64 * (step / 2)) >> 4 * (step % 2)) & 0x0f0f0f0f;
    const Integers high =
        eight_words_twice(block + 128 + 32 * (step / 2)) >> halves_of<4 * (step % 2), 4 * (step % 2) + 2>();
    return low | ((high & 0x03030303) << 4);
  }
  static void scales_and_minima(const unsigned char* block, Floats& scales, Floats& minima) {
    minima = scales = f16_at(block + 208) * floats_of_signed(codes_at(block + 192));
  }
};
struct Q2K {
  static constexpr StoredType type = StoredType::Q2_K;
  static constexpr int sharing = 16, offset = 0;
  static constexpr int group(int step, int lane) { return 4 * (lane / 8) + step; }
  template <int step>
  static Integers words(const unsigned char* block) {
    return (words_at(block + 16) >> 2 * step) & 0x03030303;
  }
  static void scales_and_minima(const unsigned char* block, Floats& scales, Floats& minima) {
    const blocks::Codes packed = codes_at(block);
    scales = f16_at(block + 80) * floats_of(packed & 15);
    minima = f16_at(block + 82) * floats_of(packed >> 4);
  }
};
struct Q3K {
  static constexpr StoredType type = StoredType::Q3_K;
  static constexpr int sharing = 16, offset = 4;
  static constexpr int group(int step, int lane) { return Q2K::group(step, lane); }
  template <int step>
  static Integers words(const unsigned char* block) {
    const Integers third = eight_words_twice(block) >> halves_of<step, step + 4>();
    return ((words_at(block + 32) >> 2 * step) & 0x03030303) | ((third & 0x01010101) << 2);
  }
  static void scales_and_minima(const unsigned char* block, Floats& scales, Floats& minima) {
    const std::uint32_t low[] = {blocks::word_at(block + 96), blocks::word_at(block + 100)},
                        high = blocks::word_at(block + 104);
    auto word = [&](int i) { return (low[i % 2] >> i / 2 * 4 & 0x0f0f0f0fu) | (high >> 2 * i & 0x03030303u) << 4; };
    const blocks::FourWords words = {word(0), word(1), word(2), word(3)};
    minima = scales = f16_at(block + 108) * (floats_of(reinterpret_cast<blocks::Codes>(words)) - 32);
  }
};

template <class T, int step>
constexpr Lanes kScaleOfLane = [] {
  Lanes lanes{};
  for (int lane = 0; lane < kWords; ++lane)
    lanes[static_cast<std::size_t>(lane)] = (32 * T::group(step, lane) + 4 * (lane % 8)) / T::sharing;
  return lanes;
}();

// Of `rows` rows, which share what is read of x.
template <class T, int rows>
[[gnu::flatten]] void dot_groups(const unsigned char* const* lines, const float* x, std::int64_t columns, float* out) {
  Floats sums[rows][2]{}, of_minima[rows]{};
  [[maybe_unused]] const Floats numbers = floats_of(blocks::zero_to_fifteen());
  constexpr int kBytes = layout_of(T::type).bytes;
  for (std::int64_t i = 0, at = 0; i < columns; i += kWeights, at += kBytes, x += kPrepared) {
    Floats scales[rows], minima[rows];
    for (int r = 0; r < rows; ++r) {
      blocks::read_ahead<kBytes>(lines[r] + at);
      T::scales_and_minima(lines[r] + at, scales[r], minima[r]);
    }
    auto add = [&]<int step>(std::integral_constant<int, step>) {
      Integers words[rows];
      Floats sum[rows];
      for (int r = 0; r < rows; ++r) words[r] = T::template words<step>(lines[r] + at);
      auto add_code = [&]<int b>(std::integral_constant<int, b>) {
        const Floats x_b = floats_at(x + 64 * step + 16 * b);
        for (int r = 0; r < rows; ++r) {
          Floats code;
          if constexpr (requires { T::looks_up; })
            code = blocks::look_up(numbers, words[r] >> (8 * b + 4 * (step % 2)));
          else
            code = code_of<b>(words[r]);
          sum[r] = b == 0 ? code * x_b : sum[r] + code * x_b;
        }
      };
      add_code(std::integral_constant<int, 0>{});
      add_code(std::integral_constant<int, 1>{});
      add_code(std::integral_constant<int, 2>{});
      add_code(std::integral_constant<int, 3>{});
      for (int r = 0; r < rows; ++r)
        sums[r][step % 2] += blocks::look_up(scales[r], words_at(kScaleOfLane<T, step>.data())) * sum[r];
    };
    add(std::integral_constant<int, 0>{});
    add(std::integral_constant<int, 1>{});
    add(std::integral_constant<int, 2>{});
    add(std::integral_constant<int, 3>{});
    for (int r = 0; r < rows; ++r) of_minima[r] += minima[r] * floats_at(x + kWeights);
  }
  for (int r = 0; r < rows; ++r) {
    const blocks::EightFloats eight = blocks::halves_added((sums[r][0] + sums[r][1]) + of_minima[r]);
    out[r] = ((eight[0] + eight[4]) + (eight[2] + eight[6])) + ((eight[1] + eight[5]) + (eight[3] + eight[7]));
  }
}

template <class T>
void group_blocks(const float* x, std::int64_t columns, float* out) {
  constexpr int kSums = kWeights / T::sharing;
  for (std::int64_t i = 0; i < columns; i += kWeights, x += kWeights, out += kPrepared) {
    for (int step = 0; step < kSteps; ++step)
      for (int lane = 0; lane < kWords; ++lane)
        for (int b = 0; b < 4; ++b) out[64 * step + 16 * b + lane] = x[32 * T::group(step, lane) + 4 * (lane % 8) + b];
    for (int s = 0; s < kWords; ++s) out[kWeights + s] = 0;
    for (int s = 0; s < kSums; ++s) {
      float sum = 0;
      for (int n = 0; n < T::sharing; ++n) sum += x[s * T::sharing + n];
      // Without an offset these are minima, of eight in the upper lanes.
      out[kWeights + (kWords - kSums) + s] = T::offset > 0 ? -static_cast<float>(T::offset) * sum : -sum;
    }
  }
}

// f(T{}) for the T of this type.
template <class F>
bool with_groups(StoredType type, F&& f) {
  auto is_one = [&]<class T>(T t) { return type == T::type && (f(t), true); };
  return is_one(Q4K{}) || is_one(Q5K{}) || is_one(Q6K{}) || is_one(Q2K{}) || is_one(Q3K{});
}

}  // namespace

bool has_groups(StoredType type) {
  return with_groups(type, [](auto) {});
}

void group_input(StoredType type, const float* x, std::int64_t columns, float* grouped) {
  with_groups(type, [&]<class T>(T) { group_blocks<T>(x, columns, grouped); });
}

void grouped_dots(StoredType type, const unsigned char* const* lines, std::int64_t rows, const float* grouped,
                  std::int64_t columns, float* sums) {
  with_groups(type, [&]<class T>(T) {
    std::int64_t n = 0;
    for (; n + kRows <= rows; n += kRows) dot_groups<T, kRows>(lines + n, grouped, columns, sums + n);
    for (; n < rows; ++n) dot_groups<T, 1>(lines + n, grouped, columns, sums + n);
  });
}

#else

bool has_groups(StoredType) { return false; }
void group_input(StoredType, const float*, std::int64_t, float*) {}
void grouped_dots(StoredType, const unsigned char* const*, std::int64_t, const float*, std::int64_t, float*) {}

#endif
}  // namespace sink
