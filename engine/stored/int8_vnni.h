// Integer products with AVX-512 and VNNI; the bits are those of int8_portable.h.
#pragma once

#include <array>

#include "engine/stored/int8_portable.h"

#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define SINK_INT8_VNNI 1

namespace sink::int8 {

struct Vnni {
  using Words = std::uint32_t __attribute__((vector_size(64)));
  using Integers = blocks::Integers;
  using Floats = blocks::Floats;

  static void put(const Words& words, std::uint32_t* to) { std::memcpy(to, &words, sizeof words); }
  static __m512i of(const Words& words) { return reinterpret_cast<__m512i>(words); }

  // Word i of out is the four bytes `at` + 4 i of each row.
  static void transpose(const unsigned char* const* rows, std::int64_t at, Words (&out)[4]) {
    auto four_rows = [&](int first) {  // `first`, and each fourth after it
      auto bytes = [&](int row) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[row] + at)); };
      __m512i four = _mm512_maskz_broadcast_i32x4(0xffff, bytes(first));
      four = _mm512_mask_broadcast_i32x4(four, 0x00f0, bytes(first + 4));
      four = _mm512_mask_broadcast_i32x4(four, 0x0f00, bytes(first + 8));
      return _mm512_mask_broadcast_i32x4(four, 0xf000, bytes(first + 12));
    };
    const __m512i a = four_rows(0), b = four_rows(1), c = four_rows(2), d = four_rows(3);
    const __m512i ab_low = _mm512_maskz_unpacklo_epi32(0xffff, a, b),
                  ab_high = _mm512_maskz_unpackhi_epi32(0xffff, a, b);
    const __m512i cd_low = _mm512_maskz_unpacklo_epi32(0xffff, c, d),
                  cd_high = _mm512_maskz_unpackhi_epi32(0xffff, c, d);
    out[0] = reinterpret_cast<Words>(_mm512_maskz_unpacklo_epi64(0xff, ab_low, cd_low));
    out[1] = reinterpret_cast<Words>(_mm512_maskz_unpackhi_epi64(0xff, ab_low, cd_low));
    out[2] = reinterpret_cast<Words>(_mm512_maskz_unpacklo_epi64(0xff, ab_high, cd_high));
    out[3] = reinterpret_cast<Words>(_mm512_maskz_unpackhi_epi64(0xff, ab_high, cd_high));
  }

  // Of the f16 in the lower halves.
  static Floats of_f16(const Words& words) {
    using Halves = std::uint16_t __attribute__((vector_size(32)));
    return reinterpret_cast<Floats>(
        _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(__builtin_convertvector(words, Halves))));
  }
  static Floats f16_of_each(const unsigned char* const* rows, std::int64_t at) {
    std::uint16_t halves[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) std::memcpy(&halves[lane], rows[lane] + at, 2);
    return blocks::f16s_at(reinterpret_cast<const unsigned char*>(halves));
  }
  static Floats floats(const Words& words) {
    return __builtin_convertvector(reinterpret_cast<Integers>(words), Floats);
  }

  static void unpack_block(Q4K, const unsigned char* const* rows, Panel& panel) {
    Words head[4];
    transpose(rows, 0, head);
    const Floats d = of_f16(head[0] & 0xffff), least = -of_f16(head[0] >> 16);
    const Words scales[] = {head[1] & 0x3f3f3f3f, (head[3] & 0x0f0f0f0f) | (head[1] >> 6 & 0x03030303) << 4};
    const Words minima[] = {head[2] & 0x3f3f3f3f, (head[3] >> 4 & 0x0f0f0f0f) | (head[2] >> 6 & 0x03030303) << 4};
#pragma GCC unroll 8
    for (int group = 0; group < 8; ++group) {
      blocks::write_floats(d * floats(scales[group / 4] >> group % 4 * 8 & 255), panel.scales[group]);
      blocks::write_floats(least * floats(minima[group / 4] >> group % 4 * 8 & 255), panel.minima[group]);
    }
#pragma GCC unroll 8
    for (int four = 0; four < 8; ++four) {
      Words words[4];
      transpose(rows, 16 + 16 * four, words);
      for (int i = 0; i < 4; ++i) {
        const int to = four / 2 * 16 + four % 2 * 4 + i;
        put(words[i] & 0x0f0f0f0f, panel.words[to]);
        put(words[i] >> 4 & 0x0f0f0f0f, panel.words[to + 8]);
      }
    }
  }

  static void unpack_block(Q6K, const unsigned char* const* rows, Panel& panel) {
    const Floats d = f16_of_each(rows, 208);
    Words scales[4];
    transpose(rows, 192, scales);
#pragma GCC unroll 16
    for (int group = 0; group < 16; ++group) {
      const auto code = reinterpret_cast<Integers>(scales[group / 4] << (24 - group % 4 * 8)) >> 24;  // with its sign
      blocks::write_floats(d * __builtin_convertvector(code, Floats), panel.scales[group]);
    }
#pragma GCC unroll 4
    for (int four = 0; four < 4; ++four) {  // 16 elements of each group of a half
      const int half = four / 2, at = four % 2 * 16;
      Words high[4];
      transpose(rows, 128 + 32 * half + at, high);
      for (int pair = 0; pair < 2; ++pair) {  // groups `pair` and `pair` + 2
        Words low[4];
        transpose(rows, 64 * half + 32 * pair + at, low);
        for (int i = 0; i < 4; ++i) {
          const int to = 32 * half + 8 * pair + at / 4 + i;
          put((low[i] & 0x0f0f0f0f) | (high[i] >> 2 * pair & 0x03030303) << 4, panel.words[to]);
          put((low[i] >> 4 & 0x0f0f0f0f) | (high[i] >> (2 * pair + 4) & 0x03030303) << 4, panel.words[to + 16]);
        }
      }
    }
  }

  // Of block `n` of 32.
  static void unpack_small(Q8, const unsigned char* const* rows, std::int64_t n, Panel& panel) {
    for (int half = 0; half < 2; ++half) {
      Words words[4];
      transpose(rows, 34 * n + 2 + 16 * half, words);
      for (int i = 0; i < 4; ++i) put(words[i] ^ 0x80808080, panel.words[8 * n + 4 * half + i]);
    }
  }
  template <class T>
  static void unpack_small(T, const unsigned char* const* rows, std::int64_t n, Panel& panel) {
    Words words[4];
    transpose(rows, layout_of(T::type).bytes * n + T::codes_at, words);
    for (int i = 0; i < 4; ++i) {
      Words low = words[i] & 0x0f0f0f0f, high = words[i] >> 4 & 0x0f0f0f0f;
      if constexpr (T::type == StoredType::MXFP4) low = e2m1(low), high = e2m1(high);
      put(low, panel.words[8 * n + i]);
      put(high, panel.words[8 * n + 4 + i]);
    }
  }
  static Floats half_of_e8m0(const Words& exponents) {
    const auto small = reinterpret_cast<Words>(exponents < 2), none = reinterpret_cast<Words>(exponents == 255);
    const Words bits = (small & ((Words{} + 0x00200000u) << exponents)) | (~small & ((exponents - 1) << 23));
    return reinterpret_cast<Floats>((none & (Words{} + 0x7fc00000u)) | (~none & bits));
  }
  static Words e2m1(const Words& codes) {
    alignas(16) static constexpr auto table = [] {
      std::array<unsigned char, 16> values{};
      for (std::size_t code = 0; code < 16; ++code)
        values[code] = static_cast<unsigned char>(Mxfp4::offset + blocks::kTwiceE2m1[code]);
      return values;
    }();
    const __m128i one = _mm_load_si128(reinterpret_cast<const __m128i*>(table.data()));
    return reinterpret_cast<Words>(_mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(0xffff, one), of(codes)));
  }

  template <class T>
  static void unpack(const unsigned char* const* rows, int columns, Panel& panel) {
    if constexpr (layout_of(T::type).elements == 256) {
      unpack_block(T{}, rows, panel);
    } else {
      constexpr int bytes = layout_of(T::type).bytes;
      for (int n = 0; n < columns / 32; ++n) {
        unpack_small(T{}, rows, n, panel);
        Words head[4];  // d, and the minimum
        transpose(rows, bytes * n, head);
        if constexpr (T::type == StoredType::MXFP4)
          blocks::write_floats(half_of_e8m0(head[0] & 255), panel.scales[n]);
        else
          blocks::write_floats(of_f16(head[0] & 0xffff), panel.scales[n]);
        if constexpr (T::has_minima) blocks::write_floats(of_f16(head[0] >> 16), panel.minima[n]);
      }
    }
  }

  // `many` rows of x at a time.
  template <class T, int many>
  static void multiply_some(const Panel& panel, int columns, const Int8Block* x, float* y) {
    constexpr int kWords = T::sharing / 4;
    __m512 sums[many];
    for (int m = 0; m < many; ++m) sums[m] = _mm512_loadu_ps(y + kLanes * m);
    for (int group = 0; group < columns / T::sharing; ++group) {
      __m512i products[many];
      for (int m = 0; m < many; ++m)
        products[m] = T::offset == 0 ? _mm512_setzero_si512() : _mm512_set1_epi32(x[m].starts[group]);
#pragma GCC unroll 8
      for (int word = group * kWords; word < (group + 1) * kWords; ++word) {
        const __m512i codes = _mm512_load_si512(panel.words[word]);
#pragma GCC unroll 8
        for (int m = 0; m < many; ++m) {
          std::int32_t four;
          std::memcpy(&four, x[m].codes + 4 * word, sizeof four);
          products[m] = _mm512_dpbusd_epi32(products[m], codes, _mm512_set1_epi32(four));
        }
      }
      const int of_x = group * T::sharing / 32;
      const __m512 scale = _mm512_load_ps(panel.scales[group]);
      for (int m = 0; m < many; ++m) {
        const auto sum =
            reinterpret_cast<__m512>(__builtin_convertvector(reinterpret_cast<Integers>(products[m]), Floats));
        sums[m] = _mm512_fmadd_ps(scale, _mm512_set1_ps(x[m].scales[of_x]) * sum, sums[m]);
      }
      if constexpr (T::has_minima) {
        const __m512 minimum = _mm512_load_ps(panel.minima[group]);
        for (int m = 0; m < many; ++m) sums[m] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(x[m].sums[of_x]), sums[m]);
      }
    }
    for (int m = 0; m < many; ++m) _mm512_storeu_ps(y + kLanes * m, sums[m]);
  }

  template <class T>
  static void multiply(const Panel& panel, int columns, const Int8Block* x, std::int64_t count, float* y) {
    std::int64_t m = 0;
    for (; m + 8 <= count; m += 8) multiply_some<T, 8>(panel, columns, x + m, y + kLanes * m);
    for (; m < count; ++m) multiply_some<T, 1>(panel, columns, x + m, y + kLanes * m);
  }
};

}  // namespace sink::int8
#endif
