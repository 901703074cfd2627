// Decodes one block of each quantised type: put(i, a, b) gets its elements i to i + 15 and i + 16 to i + 31, which a
// dot product uses without a store. The formulas are exact in f32 except for one rounding of a sum: d has 11 bits, a
// scale at most 8, a code at most 8.
//
// Byte i of n bytes of codes has code i in its low four bits and code i + n in its high four bits; `d`, `m` and `least`
// are f16.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/stored/sixteen.h"

namespace sink {

// IEEE binary16: sign, 5 bits of exponent, 10 of fraction.
inline float float_of_f16(std::uint16_t half) {
#ifdef __F16C__
  return _cvtsh_ss(half);
#else
  constexpr std::uint32_t kSubnormal = 113u << 23;  // 2^-14, the least exponent
  std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  std::uint32_t rest = static_cast<std::uint32_t>(half & 0x7fffu) << 13;  // aligned with the fraction of a float
  float subnormal = std::bit_cast<float>(rest + kSubnormal) - std::bit_cast<float>(kSubnormal);
  std::uint32_t normal = rest + (rest >= 31u << 23 ? 224u << 23 : 112u << 23);  // infinity and NaN are kept
  return std::bit_cast<float>(sign | (rest < 1u << 23 ? std::bit_cast<std::uint32_t>(subnormal) : normal));
#endif
}

namespace blocks {

// The `put` that stores them.
inline auto put_into(float* x) {
  return [x](int i, const Floats& a, const Floats& b) {
    write_floats(a, x + i);
    write_floats(b, x + i + 16);
  };
}

// Asks for the bytes that a loop over blocks of a matrix reads 12 KB later: the processor alone asks for them too late.
template <int bytes>
void read_ahead(const unsigned char* block) {
  for (int line = 0; line < bytes; line += 64) __builtin_prefetch(block + 12288 + line);
}

inline float f16_at(const unsigned char* bytes) {
  std::uint16_t half;
  std::memcpy(&half, bytes, sizeof half);
  return float_of_f16(half);
}
// Of 16 plain values.
inline Floats f16s_at(const unsigned char* bytes) {
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(
      _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes))));
#elif defined(__F16C__)
  auto eight = [](const unsigned char* from) {
    return reinterpret_cast<EightFloats>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  };
  return {eight(bytes), eight(bytes + 16)};
#else
  Floats values;
  for (int i = 0; i < 8; ++i) values.low[i] = f16_at(bytes + 2 * i);
  for (int i = 0; i < 8; ++i) values.high[i] = f16_at(bytes + 2 * i + 16);
  return values;
#endif
}

// 32 plain f16.
inline constexpr auto decode_f16 = [](const unsigned char* from, auto put) {
  put(0, f16s_at(from), f16s_at(from + 32));
};

// 32 elements: d, 32 codes i8. x = d * code
inline constexpr auto decode_q8_0 = [](const unsigned char* block, auto put) {
  float d = f16_at(block);
  put(0, d * floats_of_signed(codes_at(block + 2)), d * floats_of_signed(codes_at(block + 18)));
};

// 32 elements: d, 16 bytes of codes. x = d * (code - 8)
inline constexpr auto decode_q4_0 = [](const unsigned char* block, auto put) {
  const float d = f16_at(block);
  const OfFourBits value([=](const Floats& code) { return d * (code - 8); });
  put(0, value(codes_at(block + 2), 0), value(codes_at(block + 2), 4));
};

// 32 elements: d, m, 16 bytes of codes. x = d * code + m
inline constexpr auto decode_q4_1 = [](const unsigned char* block, auto put) {
  const float d = f16_at(block), m = f16_at(block + 2);
  const OfFourBits value([=](const Floats& code) { return d * code + m; });
  put(0, value(codes_at(block + 4), 0), value(codes_at(block + 4), 4));
};

// Codes [from, from + 16) of 32: four bits out of 16 bytes, and bit i of a u32 above them; from is 0 or 16.
inline Floats five_bits(const unsigned char* codes, std::uint32_t fifth, int from, int least) {
  const Integers above = (((Integers{} + static_cast<int>(fifth >> from)) >> zero_to_fifteen()) & 1) << 4;
  const Codes low = from == 0 ? codes_at(codes) & 15 : codes_at(codes) >> 4;
  return floats_of((widened(low) | above) + least);
}
inline std::uint32_t word_at(const unsigned char* bytes) {
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// 32 elements: d, u32 of fifth bits, 16 bytes of codes. x = d * (code - 16)
inline constexpr auto decode_q5_0 = [](const unsigned char* block, auto put) {
  const float d = f16_at(block);
  const std::uint32_t fifth = word_at(block + 2);
  put(0, d * five_bits(block + 6, fifth, 0, -16), d * five_bits(block + 6, fifth, 16, -16));
};

// 32 elements: d, m, u32 of fifth bits, 16 bytes of codes. x = d * code + m
inline constexpr auto decode_q5_1 = [](const unsigned char* block, auto put) {
  const float d = f16_at(block), m = f16_at(block + 2);
  const std::uint32_t fifth = word_at(block + 4);
  put(0, d * five_bits(block + 8, fifth, 0, 0) + m, d * five_bits(block + 8, fifth, 16, 0) + m);
};

// Twelve bytes hold a scale and a minimum of six bits for each of eight groups. Groups 0 to 3: the low six bits of
// bytes 0 to 3 and 4 to 7. Groups 4 to 7: the low and the high four bits of bytes 8 to 11, below the two high bits of
// bytes 0 to 3 and 4 to 7.
struct GroupScales {
  float of[16];  // d times the scale of each group, and then `least` times the minimum of each
};
inline GroupScales six_bit_scales(const unsigned char* packed, float d, float least) {
  const std::uint32_t low = word_at(packed), middle = word_at(packed + 4), high = word_at(packed + 8);
  const FourWords words = {low & 0x3f3f3f3fu, (high & 0x0f0f0f0fu) | (low >> 6 & 0x03030303u) << 4,
                           middle & 0x3f3f3f3fu, (high >> 4 & 0x0f0f0f0fu) | (middle >> 6 & 0x03030303u) << 4};
  GroupScales scales;
  write_floats(in_halves(d, least) * floats_of(reinterpret_cast<Codes>(words)), scales.of);
  return scales;
}

// 256 elements: d, least, 12 bytes of six_bit_scales, 4 times 32 bytes of codes, each for two groups of 32.
// x = d * scale * code - least * minimum
inline constexpr auto decode_q4_k = [](const unsigned char* block, auto put) {
  const GroupScales scales = six_bit_scales(block + 4, f16_at(block), f16_at(block + 2));
#pragma GCC unroll 8
  for (int group = 0; group < 8; ++group) {
    const float scale = scales.of[group], minimum = scales.of[group + 8];
    const OfFourBits value([=](const Floats& code) { return scale * code - minimum; });
    const unsigned char* codes = block + 16 + 32 * (group / 2);
    put(32 * group, value(codes_at(codes), group % 2 * 4), value(codes_at(codes + 16), group % 2 * 4));
  }
};

// 256 elements: as Q4_K, with 32 bytes of fifth bits before the codes: bit g of byte i is that of code i of group g.
inline constexpr auto decode_q5_k = [](const unsigned char* block, auto put) {
  const GroupScales scales = six_bit_scales(block + 4, f16_at(block), f16_at(block + 2));
  const unsigned char* fifth = block + 16;
#pragma GCC unroll 8
  for (int group = 0; group < 8; ++group) {
    const float scale = scales.of[group], minimum = scales.of[group + 8];
    const unsigned char* codes = block + 48 + 32 * (group / 2);
    auto value = [&](int i) {
      const Codes code = (codes_at(codes + i) >> group % 2 * 4 & 15) | (codes_at(fifth + i) >> group & 1) << 4;
      return scale * floats_of(code) - minimum;
    };
    put(32 * group, value(0), value(16));
  }
};

// 256 elements in two halves: 64 bytes of the codes' low four bits for each half, 32 bytes of their two high bits for
// each, 16 scales i8, d. Of a half's four groups of 32, group g has its low bits in bytes 32 (g % 2) on, below for g <
// 2, and its high ones in bits 2 g of the 32 bytes. x = d * scale of each 16 * (code - 32)
inline constexpr auto decode_q6_k = [](const unsigned char* block, auto put) {
  float scales[16];
  const Floats scaled = f16_at(block + 208) * floats_of_signed(codes_at(block + 192));
  write_floats(scaled, scales);
#pragma GCC unroll 8
  for (int group = 0; group < 8; ++group) {
    const int half = group / 4, g = group % 4;
    auto value = [&](int from) {
      const Codes low = codes_at(block + 64 * half + 32 * (g % 2) + from),
                  high = codes_at(block + 128 + 32 * half + from);
      const Codes code = (low >> g / 2 * 4 & 15) | (high >> 2 * g & 3) << 4;
      return scales[2 * group + from / 16] * (floats_of(code) - 32);
    };
    put(32 * group, value(0), value(16));
  }
};

// 256 elements: 16 bytes with a scale below a minimum of each 16, in four bits each, 64 bytes of codes of two bits, d,
// least. Two halves of 32 bytes of codes: bits 2 g of a half's bytes are its group g of 32.
// x = d * scale * code - least * minimum
inline constexpr auto decode_q2_k = [](const unsigned char* block, auto put) {
  float scales[16], minima[16];
  const Codes packed = codes_at(block);
  const Floats scaled = f16_at(block + 80) * floats_of(packed & 15),
               least = f16_at(block + 82) * floats_of(packed >> 4);
  write_floats(scaled, scales);
  write_floats(least, minima);
#pragma GCC unroll 8
  for (int group = 0; group < 8; ++group) {
    auto value = [&](int from) {
      const Codes code = codes_at(block + 16 + 32 * (group / 4) + from) >> 2 * (group % 4) & 3;
      return scales[2 * group + from / 16] * floats_of(code) - minima[2 * group + from / 16];
    };
    put(32 * group, value(0), value(16));
  }
};

// 256 elements: 32 bytes of third bits, 64 bytes of the codes' low two bits as in Q2_K, 12 bytes of scales, d. Bit g of
// byte i of the third bits is that of code i of group g of 32, of eight. Scale s of each 16 has six bits: byte s % 8 of
// the scales has its low four (below for s < 8), byte 8 + s % 4 its high two, in bits 2 (s / 4).
// x = d * (scale - 32) * (code - 4)
inline constexpr auto decode_q3_k = [](const unsigned char* block, auto put) {
  const float d = f16_at(block + 108);
  auto scale = [&](int s) {
    const unsigned char* scales = block + 96;
    const int low = scales[s % 8] >> (s / 8 * 4) & 15, high = scales[8 + s % 4] >> (s / 4 * 2) & 3;
    return d * static_cast<float>((low | high << 4) - 32);
  };
#pragma GCC unroll 8
  for (int group = 0; group < 8; ++group) {
    auto value = [&](int from) {
      const Codes third = codes_at(block + from) >> group & 1;
      const Codes code = (codes_at(block + 32 + 32 * (group / 4) + from) >> 2 * (group % 4) & 3) | third << 2;
      return scale(2 * group + from / 16) * (floats_of(code) - 4);
    };
    put(32 * group, value(0), value(16));
  }
};

// The values of IQ4_NL and IQ4_XS, as i8, by code: denser near zero, as weights are.
inline constexpr signed char kNonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

// Elements i to i + 31, whose codes are 16 bytes: x = d * table[code]
template <class Put>
void put_looked_up(float d, const signed char* table, const unsigned char* codes, int i, Put put) {
  Codes values, code = codes_at(codes);
  std::memcpy(&values, table, sizeof values);
#ifdef __AVX512F__
  const Floats scaled = d * floats_of_signed(values);
  put(i, look_up(scaled, widened(code)), look_up(scaled, widened(code) >> 4));
#else
  put(i, d * floats_of_signed(look_up(values, code & 15)), d * floats_of_signed(look_up(values, code >> 4)));
#endif
}

// 32 elements: d, 16 bytes of codes. x = d * kNonlinear[code]
inline constexpr auto decode_iq4_nl = [](const unsigned char* block, auto put) {
  put_looked_up(f16_at(block), kNonlinear, block + 2, 0, put);
};

// 256 elements: d, u16 of the scales' high two bits, 4 bytes of their low four bits, 8 times 16 bytes of codes, each
// for a group of 32. Group g has its high bits in bits 2 g of the u16, its low ones in byte g / 2, below for even g.
// x = d * (scale - 32) * kNonlinear[code]
inline constexpr auto decode_iq4_xs = [](const unsigned char* block, auto put) {
  float d = f16_at(block);
  for (int g = 0; g < 8; ++g) {
    int high = block[2 + g / 4] >> (g % 4 * 2) & 3, low = block[4 + g / 2] >> (g % 2 * 4) & 15;
    put_looked_up(d * static_cast<float>((low | high << 4) - 32), kNonlinear, block + 8 + 16 * g, 32 * g, put);
  }
};

// Twice the values of E2M1 (sign, 2 bits of exponent, 1 of fraction), as i8, by code.
inline constexpr signed char kTwiceE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Half of an E8M0 scale: 2^(exponent - 128), and NaN for 255 (Open Compute Project, Microscaling Formats 1.0, 2023).
inline float half_of_e8m0(unsigned char exponent) {
  if (exponent == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1u) << 23);
}

// 32 elements: an E8M0 scale, 16 bytes of codes. x = scale * E2M1
inline constexpr auto decode_mxfp4 = [](const unsigned char* block, auto put) {
  put_looked_up(half_of_e8m0(block[0]), kTwiceE2m1, block + 1, 0, put);
};

// One less than the first of the digits in base three of 16 fractions codes / 256.
inline Floats less_one_of_three(Codes codes) {
  return floats_of_signed(~reinterpret_cast<Codes>((codes > 85) + (codes > 170)));
}

// 256 elements: 48 bytes, each a fraction of five digits in base three, 4 of four, d. Digit n is the first one of byte
// * 3^n, of which eight bits are kept. Elements from 32 n are digits n of the first 32 bytes, from 160 + 16 n of the
// next 16, from 240 + 4 n of the last 4. x = d * (digit - 1)
inline constexpr auto decode_tq1_0 = [](const unsigned char* block, auto put) {
  const float d = f16_at(block + 52);
  constexpr unsigned char kPowers[] = {1, 3, 9, 27, 81};
  auto value = [&](int from, int n) { return d * less_one_of_three(codes_at(block + from) * kPowers[n]); };
  for (int n = 0; n < 5; ++n) put(32 * n, value(0, n), value(16, n));
  for (int n = 0; n < 4; n += 2) put(160 + 16 * n, value(32, n), value(32, n + 1));
  const Codes last = reinterpret_cast<Codes>(FourWords{} + word_at(block + 48));
  put(224, value(32, 4), d * less_one_of_three(last * Codes{1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27}));
};

// 256 elements: 64 bytes of codes of two bits as in Q2_K, d. x = d * (code - 1)
inline constexpr auto decode_tq2_0 = [](const unsigned char* block, auto put) {
  const float d = f16_at(block + 64);
#pragma GCC unroll 8
  for (int group = 0; group < 8; ++group) {
    auto value = [&](int from) {
      return d * (floats_of(codes_at(block + 32 * (group / 4) + from) >> 2 * (group % 4) & 3) - 1);
    };
    put(32 * group, value(0), value(16));
  }
};

inline float f32_at(const unsigned char* bytes) {
  float value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// 32 elements: d and m in f32, 16 bytes of codes. x = d * code + m
inline constexpr auto decode_scaled_4 = [](const unsigned char* block, auto put) {
  const float d = f32_at(block), m = f32_at(block + 4);
  const OfFourBits value([=](const Floats& code) { return d * code + m; });
  put(0, value(codes_at(block + 8), 0), value(codes_at(block + 8), 4));
};

// 16 values of E4M3: sign, 4 bits of exponent, 3 of fraction (OCP 8-bit Floating Point Specification, 2023). As an f16
// the bits are 2^-8 times the value. NaN, all ones but the sign, is not looked for.
inline Floats e4m3s_at(const unsigned char* codes) {
  std::uint16_t halves[16];
  for (int i = 0; i < 16; ++i) halves[i] = static_cast<std::uint16_t>((codes[i] & 0x80) << 8 | (codes[i] & 0x7f) << 7);
  return f16s_at(reinterpret_cast<const unsigned char*>(halves));
}

// 32 elements: d in f32, 32 codes. x = d * E4M3
inline constexpr auto decode_scaled_f8 = [](const unsigned char* block, auto put) {
  const float d = f32_at(block) * 256;
  put(0, d * e4m3s_at(block + 4), d * e4m3s_at(block + 20));
};

}  // namespace blocks
}  // namespace sink
