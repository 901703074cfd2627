// Vectors of sixteen elements, as explicit code: from a loop over bytes the compiler makes vectors of 16 bytes only.
// With AVX-512 they are registers, else two of eight elements each.
#pragma once

#if defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
#endif

#include <cstring>

namespace sink::blocks {

// On machines with shorter vectors compilers warn that the calling convention differs. These functions are inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

using Codes = unsigned char __attribute__((vector_size(16)));

using FourWords = unsigned int __attribute__((vector_size(16)));

using EightFloats = float __attribute__((vector_size(32)));
using EightIntegers = int __attribute__((vector_size(32)));

#ifdef __AVX512F__
using Floats = float __attribute__((vector_size(64)));
using Integers = int __attribute__((vector_size(64)));
#else
// Operators on both halves; the other operand is a Pair or a number.
template <class T, class Half>
struct Pair {
  Half low, high;

  friend Pair operator+(const Pair& a, const Pair& b) { return {a.low + b.low, a.high + b.high}; }
  friend Pair operator*(const Pair& a, const Pair& b) { return {a.low * b.low, a.high * b.high}; }
  friend Pair operator|(const Pair& a, const Pair& b) { return {a.low | b.low, a.high | b.high}; }
  friend Pair operator>>(const Pair& a, const Pair& b) { return {a.low >> b.low, a.high >> b.high}; }
  friend Pair operator+(const Pair& a, T b) { return {a.low + b, a.high + b}; }
  friend Pair operator-(const Pair& a, T b) { return {a.low - b, a.high - b}; }
  friend Pair operator*(T a, const Pair& b) { return {a * b.low, a * b.high}; }
  friend Pair operator&(const Pair& a, T b) { return {a.low & b, a.high & b}; }
  friend Pair operator>>(const Pair& a, T b) { return {a.low >> b, a.high >> b}; }
  friend Pair operator<<(const Pair& a, T b) { return {a.low << b, a.high << b}; }
  Pair& operator+=(const Pair& b) { return *this = *this + b; }
};
using Floats = Pair<float, EightFloats>;
using Integers = Pair<int, EightIntegers>;
#endif

inline Codes codes_at(const unsigned char* bytes) {
  Codes codes;
  std::memcpy(&codes, bytes, sizeof codes);
  return codes;
}
inline Floats floats_at(const float* x) {
  Floats values;
#ifdef __AVX512F__
  std::memcpy(&values, x, sizeof values);
#else
  std::memcpy(&values.low, x, sizeof values.low);
  std::memcpy(&values.high, x + 8, sizeof values.high);
#endif
  return values;
}
inline void write_floats(const Floats& values, float* x) {
#ifdef __AVX512F__
  std::memcpy(x, &values, sizeof values);
#else
  std::memcpy(x, &values.low, sizeof values.low);
  std::memcpy(x + 8, &values.high, sizeof values.high);
#endif
}
// `lower` in the lower eight, `upper` in the upper eight.
inline Floats in_halves(float lower, float upper) {
#ifdef __AVX512F__
  return reinterpret_cast<Floats>(_mm512_mask_blend_ps(0xff00, _mm512_set1_ps(lower), _mm512_set1_ps(upper)));
#else
  return {EightFloats{} + lower, EightFloats{} + upper};
#endif
}
// The lower eight and the upper eight, added.
inline EightFloats halves_added(const Floats& values) {
#ifdef __AVX512F__
  EightFloats halves[2];
  std::memcpy(halves, &values, sizeof halves);
  return halves[0] + halves[1];
#else
  return values.low + values.high;
#endif
}

// With instructions by name where there are: GCC 12 widens bytes that are in memory, and signed ones, one by one. With
// the mask that keeps all it does not warn of values that are not used.
#ifdef __AVX512F__
inline Integers widened(Codes codes) {
  return reinterpret_cast<Integers>(_mm512_maskz_cvtepu8_epi32(0xffff, reinterpret_cast<__m128i>(codes)));
}
inline Integers widened_signed(Codes codes) {
  return reinterpret_cast<Integers>(_mm512_maskz_cvtepi8_epi32(0xffff, reinterpret_cast<__m128i>(codes)));
}
#elif defined(__AVX2__)
inline Integers widened(Codes codes) {
  const auto all = reinterpret_cast<__m128i>(codes);
  return {reinterpret_cast<EightIntegers>(_mm256_cvtepu8_epi32(all)),
          reinterpret_cast<EightIntegers>(_mm256_cvtepu8_epi32(_mm_srli_si128(all, 8)))};
}
inline Integers widened_signed(Codes codes) {
  const auto all = reinterpret_cast<__m128i>(codes);
  return {reinterpret_cast<EightIntegers>(_mm256_cvtepi8_epi32(all)),
          reinterpret_cast<EightIntegers>(_mm256_cvtepi8_epi32(_mm_srli_si128(all, 8)))};
}
#else
inline Integers widened(Codes codes) {
  Integers wide;
  for (int i = 0; i < 8; ++i) wide.low[i] = codes[i];
  for (int i = 0; i < 8; ++i) wide.high[i] = codes[i + 8];
  return wide;
}
inline Integers widened_signed(Codes codes) { return widened(codes ^ 128) - 128; }
#endif

inline Floats floats_of(const Integers& codes) {
#ifdef __AVX512F__
  return __builtin_convertvector(codes, Floats);
#else
  return {__builtin_convertvector(codes.low, EightFloats), __builtin_convertvector(codes.high, EightFloats)};
#endif
}
inline Floats floats_of(Codes codes) { return floats_of(widened(codes)); }
// For i8.
inline Floats floats_of_signed(Codes codes) { return floats_of(widened_signed(codes)); }

inline Integers zero_to_fifteen() { return widened(Codes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}); }

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

#ifdef __AVX512F__
// table[code % 16]
inline Floats look_up(const Floats& table, const Integers& codes) {
  return reinterpret_cast<Floats>(
      _mm512_maskz_permutexvar_ps(0xffff, reinterpret_cast<__m512i>(codes), reinterpret_cast<__m512>(table)));
}
#endif

// f(code) of sixteen codes, which are the four bits from `shift` on of each byte. With AVX-512 one instruction looks up
// sixteen in a table, which has the same bits.
template <class F>
struct OfFourBits {
#ifdef __AVX512F__
  explicit OfFourBits(F f) : table(f(floats_of(zero_to_fifteen()))) {}
  Floats operator()(Codes codes, int shift) const { return look_up(table, widened(codes) >> shift); }
  Floats table;
#else
  explicit OfFourBits(F of_code) : f(of_code) {}
  Floats operator()(Codes codes, int shift) const { return f(floats_of(codes >> shift & 15)); }
  F f;
#endif
};

}  // namespace sink::blocks
