// Decodes one block of each quantised type. The formulas are exact in f32 except for one rounding of a sum: d has 11
// bits, a scale at most 8, a code at most 8.
//
// Byte i of n bytes of codes has code i in its low four bits and code i + n in its high four bits; `d`, `m` and `least`
// are f16. Sixteen codes at a time are explicit vectors: from a loop over bytes the compiler makes vectors of 16 bytes
// only.
#pragma once

#ifdef __F16C__
#include <immintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

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

// On machines with shorter vectors compilers warn that the calling convention differs. These functions are inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

using Codes = unsigned char __attribute__((vector_size(16)));
using Floats = float __attribute__((vector_size(64)));

inline Codes codes_at(const unsigned char* bytes) {
  Codes codes;
  std::memcpy(&codes, bytes, sizeof codes);
  return codes;
}
using Integers = int __attribute__((vector_size(64)));
inline Floats floats_of(Codes codes) {
  return __builtin_convertvector(__builtin_convertvector(codes, Integers), Floats);
}
// For i8. GCC 12 widens signed bytes one by one, so the codes are shifted to unsigned.
inline Floats floats_of_signed(Codes codes) {
  return __builtin_convertvector(__builtin_convertvector(codes ^ 128, Integers) - 128, Floats);
}
// Of i8: table[code] for codes below 16.
inline Codes look_up(Codes table, Codes codes) {
#ifdef __clang__
  Codes found;
  for (int i = 0; i < 16; ++i) found[i] = table[codes[i]];
  return found;
#else
  return __builtin_shuffle(table, codes);
#endif
}
inline void put(const Floats& values, float* x) { std::memcpy(x, &values, sizeof values); }

inline float f16_at(const unsigned char* bytes) {
  std::uint16_t half;
  std::memcpy(&half, bytes, sizeof half);
  return float_of_f16(half);
}

// 32 elements: d, 32 codes i8. x = d * code
inline void decode_q8_0(const unsigned char* block, float* x) {
  float d = f16_at(block);
  put(d * floats_of_signed(codes_at(block + 2)), x);
  put(d * floats_of_signed(codes_at(block + 18)), x + 16);
}

// 32 elements: d, 16 bytes of codes. x = d * (code - 8)
inline void decode_q4_0(const unsigned char* block, float* x) {
  float d = f16_at(block);
  Codes codes = codes_at(block + 2);
  put(d * (floats_of(codes & 15) - 8), x);
  put(d * (floats_of(codes >> 4) - 8), x + 16);
}

// 32 elements: d, m, 16 bytes of codes. x = d * code + m
inline void decode_q4_1(const unsigned char* block, float* x) {
  float d = f16_at(block), m = f16_at(block + 2);
  Codes codes = codes_at(block + 4);
  put(d * floats_of(codes & 15) + m, x);
  put(d * floats_of(codes >> 4) + m, x + 16);
}

// Code i of 32: four bits out of 16 bytes, and bit i of a u32 above them.
inline int five_bits(const unsigned char* codes, std::uint32_t fifth, int i) {
  return (i < 16 ? codes[i] & 15 : codes[i - 16] >> 4) | static_cast<int>(fifth >> i & 1) << 4;
}

// 32 elements: d, u32 of fifth bits, 16 bytes of codes. x = d * (code - 16)
inline void decode_q5_0(const unsigned char* block, float* x) {
  float d = f16_at(block);
  std::uint32_t fifth;
  std::memcpy(&fifth, block + 2, sizeof fifth);
#pragma omp simd
  for (int i = 0; i < 16; ++i) x[i] = d * static_cast<float>(five_bits(block + 6, fifth, i) - 16);
#pragma omp simd
  for (int i = 16; i < 32; ++i) x[i] = d * static_cast<float>(five_bits(block + 6, fifth, i) - 16);
}

// 32 elements: d, m, u32 of fifth bits, 16 bytes of codes. x = d * code + m
inline void decode_q5_1(const unsigned char* block, float* x) {
  float d = f16_at(block), m = f16_at(block + 2);
  std::uint32_t fifth;
  std::memcpy(&fifth, block + 4, sizeof fifth);
#pragma omp simd
  for (int i = 0; i < 16; ++i) x[i] = d * static_cast<float>(five_bits(block + 8, fifth, i)) + m;
#pragma omp simd
  for (int i = 16; i < 32; ++i) x[i] = d * static_cast<float>(five_bits(block + 8, fifth, i)) + m;
}

// Twelve bytes hold a scale and a minimum of six bits for each of eight groups. Groups 0 to 3: the low six bits of
// bytes 0 to 3 and 4 to 7. Groups 4 to 7: the low and the high four bits of bytes 8 to 11, below the two high bits of
// bytes 0 to 3 and 4 to 7.
inline void six_bit_scales(const unsigned char* packed, int group, float& scale, float& least) {
  int low = packed[group % 4], middle = packed[group % 4 + 4], high = packed[group % 4 + 8];
  scale = static_cast<float>(group < 4 ? low & 63 : (high & 15) | low >> 6 << 4);
  least = static_cast<float>(group < 4 ? middle & 63 : high >> 4 | middle >> 6 << 4);
}

// 256 elements: d, least, 12 bytes of six_bit_scales, 4 times 32 bytes of codes, each for two groups of 32.
// x = d * scale * code - least * minimum
inline void decode_q4_k(const unsigned char* block, float* x) {
  float d = f16_at(block), least = f16_at(block + 2), scale, minimum;
  for (int group = 0; group < 8; ++group) {
    six_bit_scales(block + 4, group, scale, minimum);
    scale *= d;
    minimum *= least;
    const unsigned char* codes = block + 16 + 32 * (group / 2);
    int shift = group % 2 * 4;
    for (int i = 0; i < 32; i += 16)
      put(scale * floats_of(codes_at(codes + i) >> shift & 15) - minimum, x + 32 * group + i);
  }
}

// 256 elements: as Q4_K, with 32 bytes of fifth bits before the codes: bit g of byte i is that of code i of group g.
inline void decode_q5_k(const unsigned char* block, float* x) {
  float d = f16_at(block), least = f16_at(block + 2), scale, minimum;
  const unsigned char* fifth = block + 16;
  for (int group = 0; group < 8; ++group) {
    six_bit_scales(block + 4, group, scale, minimum);
    scale *= d;
    minimum *= least;
    const unsigned char* codes = block + 48 + 32 * (group / 2);
    int shift = group % 2 * 4;
    for (int i = 0; i < 32; i += 16) {
      Codes code = (codes_at(codes + i) >> shift & 15) | (codes_at(fifth + i) >> group & 1) << 4;
      put(scale * floats_of(code) - minimum, x + 32 * group + i);
    }
  }
}

// 256 elements in two halves: 64 bytes of the codes' low four bits for each half, 32 bytes of their two high bits for
// each, 16 scales i8, d. Of a half's four groups of 32, group g has its low bits in bytes 32 (g % 2) on, below for g <
// 2, and its high ones in bits 2 g of the 32 bytes. x = d * scale of each 16 * (code - 32)
inline void decode_q6_k(const unsigned char* block, float* x) {
  float d = f16_at(block + 208);
  for (int sixteen = 0; sixteen < 16; ++sixteen) {
    int half = sixteen / 8, g = sixteen % 8 / 2, from = sixteen % 2 * 16;
    const unsigned char* low = block + 64 * half + 32 * (g % 2) + from;
    const unsigned char* high = block + 128 + 32 * half + from;
    int low_shift = g / 2 * 4, high_shift = 2 * g;
    float scale = d * static_cast<float>(static_cast<std::int8_t>(block[192 + sixteen]));
    Codes code = (codes_at(low) >> low_shift & 15) | (codes_at(high) >> high_shift & 3) << 4;
    put(scale * (floats_of(code) - 32), x + 16 * sixteen);
  }
}

// 256 elements: 16 bytes with a scale below a minimum of each 16, in four bits each, 64 bytes of codes of two bits, d,
// least. Two halves of 32 bytes of codes: bits 2 g of a half's bytes are its group g of 32.
// x = d * scale * code - least * minimum
inline void decode_q2_k(const unsigned char* block, float* x) {
  float d = f16_at(block + 80), least = f16_at(block + 82);
  for (int sixteen = 0; sixteen < 16; ++sixteen) {
    int half = sixteen / 8, g = sixteen % 8 / 2, from = sixteen % 2 * 16;
    float scale = d * static_cast<float>(block[sixteen] & 15);
    float minimum = least * static_cast<float>(block[sixteen] >> 4);
    Codes code = codes_at(block + 16 + 32 * half + from) >> (2 * g) & 3;
    put(scale * floats_of(code) - minimum, x + 16 * sixteen);
  }
}

// 256 elements: 32 bytes of third bits, 64 bytes of the codes' low two bits as in Q2_K, 12 bytes of scales, d. Bit g of
// byte i of the third bits is that of code i of group g of 32, of eight. Scale s of each 16 has six bits: byte s % 8 of
// the scales has its low four (below for s < 8), byte 8 + s % 4 its high two, in bits 2 (s / 4).
// x = d * (scale - 32) * (code - 4)
inline void decode_q3_k(const unsigned char* block, float* x) {
  const unsigned char* scales = block + 96;
  float d = f16_at(block + 108);
  for (int sixteen = 0; sixteen < 16; ++sixteen) {
    int half = sixteen / 8, g = sixteen % 8 / 2, from = sixteen % 2 * 16;
    int low = scales[sixteen % 8] >> (sixteen / 8 * 4) & 15, high = scales[8 + sixteen % 4] >> (sixteen / 4 * 2) & 3;
    float scale = d * static_cast<float>((low | high << 4) - 32);
    Codes third = codes_at(block + from) >> (4 * half + g) & 1;
    Codes code = (codes_at(block + 32 + 32 * half + from) >> (2 * g) & 3) | third << 2;
    put(scale * (floats_of(code) - 4), x + 16 * sixteen);
  }
}

// The values of IQ4_NL and IQ4_XS, as i8, by code: denser near zero, as weights are.
inline constexpr signed char kNonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

// 32 elements whose codes are 16 bytes: x = d * table[code]
inline void put_looked_up(float d, const signed char* table, const unsigned char* codes, float* x) {
  Codes values, code = codes_at(codes);
  std::memcpy(&values, table, sizeof values);
  put(d * floats_of_signed(look_up(values, code & 15)), x);
  put(d * floats_of_signed(look_up(values, code >> 4)), x + 16);
}

// 32 elements: d, 16 bytes of codes. x = d * kNonlinear[code]
inline void decode_iq4_nl(const unsigned char* block, float* x) {
  put_looked_up(f16_at(block), kNonlinear, block + 2, x);
}

// 256 elements: d, u16 of the scales' high two bits, 4 bytes of their low four bits, 8 times 16 bytes of codes, each
// for a group of 32. Group g has its high bits in bits 2 g of the u16, its low ones in byte g / 2, below for even g.
// x = d * (scale - 32) * kNonlinear[code]
inline void decode_iq4_xs(const unsigned char* block, float* x) {
  float d = f16_at(block);
  for (int g = 0; g < 8; ++g) {
    int high = block[2 + g / 4] >> (g % 4 * 2) & 3, low = block[4 + g / 2] >> (g % 2 * 4) & 15;
    put_looked_up(d * static_cast<float>((low | high << 4) - 32), kNonlinear, block + 8 + 16 * g, x + 32 * g);
  }
}

// Twice the values of E2M1 (sign, 2 bits of exponent, 1 of fraction), as i8, by code.
inline constexpr signed char kTwiceE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Half of an E8M0 scale: 2^(exponent - 128), and NaN for 255 (Open Compute Project, Microscaling Formats 1.0, 2023).
inline float half_of_e8m0(unsigned char exponent) {
  if (exponent == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1u) << 23);
}

// 32 elements: an E8M0 scale, 16 bytes of codes. x = scale * E2M1
inline void decode_mxfp4(const unsigned char* block, float* x) {
  put_looked_up(half_of_e8m0(block[0]), kTwiceE2m1, block + 1, x);
}

}  // namespace blocks
}  // namespace sink
