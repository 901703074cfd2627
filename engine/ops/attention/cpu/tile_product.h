// The matrix product of the CPU attention kernels: C (+)= A B on panels in scratch memory. Elements of A are broadcast;
// B and C are read in vectors.
//
// The depth k of a product is counted in words. A word of f32 is one value; a word of bf16 holds two values adjacent in
// depth, as the processor's bf16 dot product expects. The same code serves both.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "engine/dtype.h"

#ifdef __FMA__
#include <immintrin.h>
#endif

namespace sink::cpu {

#ifdef __AVX512F__
inline constexpr int kVectorFloats = 16;
inline constexpr int kRegisterRows = 8;  // 8 x 3 accumulators of 32 registers
#else
inline constexpr int kVectorFloats = 8;
inline constexpr int kRegisterRows = 4;  // 4 x 3 accumulators of 16 registers
#endif
inline constexpr int kRowBlock = 8;  // rows of one product call; scratch is padded to it

using FloatVector = float __attribute__((vector_size(4 * kVectorFloats)));
// Pairs of bf16 are written as bf16 and read as words, hence may_alias.
using WordVector = std::uint32_t __attribute__((vector_size(4 * kVectorFloats), may_alias));

// x rotated by kBy elements towards the front.
template <int kBy, std::size_t... n>
inline FloatVector rotated(FloatVector x, std::index_sequence<n...>) {
  return __builtin_shufflevector(x, x, (n + kBy) % kVectorFloats...);
}

// f(...f(f(x0, x8), ...)...) over the elements of x, pairwise in a fixed order.
template <int kHalf = kVectorFloats / 2, class F>
inline float reduce(FloatVector x, F f) {
  if constexpr (kHalf == 0)
    return x[0];
  else
    return reduce<kHalf / 2>(f(x, rotated<kHalf>(x, std::make_index_sequence<kVectorFloats>())), f);
}
inline float largest_of(FloatVector x) {
  return reduce(x, [](FloatVector a, FloatVector b) { return a > b ? a : b; });
}
inline float sum_of(FloatVector x) {
  return reduce(x, [](FloatVector a, FloatVector b) { return a + b; });
}

// Loads kVectorFloats values from an unaligned address.
inline FloatVector load_floats(const float* x) {
  FloatVector values;
  std::memcpy(&values, x, sizeof(values));
  return values;
}
inline FloatVector load_floats(const bf16* x) {
  using Halves = std::uint16_t __attribute__((vector_size(2 * kVectorFloats)));
  Halves halves;
  std::memcpy(&halves, x, sizeof(halves));
  return (FloatVector)(__builtin_convertvector(halves, WordVector) << 16);  // a bf16 is the upper half of a float
}

// a * b + c, rounded once. Sums of products here are written as fma_floats() or std::fma. Otherwise the compiler may
// fuse in one loop and not in another, and the bits of a query would depend on how many queries are computed together:
// GCC 14 tuned for Zen 5 does not fuse in product_rows(), and does in multiply_registers().
inline FloatVector fma_floats(FloatVector a, FloatVector b, FloatVector c) {
#if defined(__AVX512F__)
  return (FloatVector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (FloatVector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  for (int n = 0; n < kVectorFloats; ++n) c[n] = std::fma(a[n], b[n], c[n]);
  return c;
#endif
}

// Requires: Word, kPerWord (values per word), Vector (of words), multiply_add(c, a, b) = c + a . b
template <class E>
struct Words;

template <>
struct Words<float> {
  using Word = float;
  using Vector = FloatVector;
  static constexpr int kPerWord = 1;
  static FloatVector multiply_add(FloatVector c, Word a, Vector b) { return fma_floats(a - Vector{}, b, c); }
};

template <>
struct Words<bf16> {
  using Word = std::uint32_t __attribute__((may_alias));
  using Vector = WordVector;
  static constexpr int kPerWord = 2;
  static FloatVector multiply_add(FloatVector c, Word a, Vector b) {
    Vector a_all = a - Vector{};
#if defined(__AVX512BF16__) && defined(__AVX512F__)
    return (FloatVector)_mm512_dpbf16_ps((__m512)c, (__m512bh)a_all, (__m512bh)b);
#else
    // The low and the high value of each word, as the upper halves of floats.
    c = fma_floats((FloatVector)(a_all << 16), (FloatVector)(b << 16), c);
    return fma_floats((FloatVector)(a_all & 0xffff0000u), (FloatVector)(b & 0xffff0000u), c);
#endif
  }
};

// How A is stored: element (row, k) at a[row * stride + k], or at a[k * stride + row].
enum class Access { kByRow, kByColumn };

template <class E, Access kAccess, int kVectors>
inline void multiply_registers(const typename Words<E>::Word* a, std::int64_t a_stride,
                               const typename Words<E>::Word* b, std::int64_t b_stride, float* c, std::int64_t c_stride,
                               std::int64_t depth, bool add) {
  using Vector = typename Words<E>::Vector;
  FloatVector sum[kRegisterRows][kVectors];
#pragma GCC unroll 8
  for (int row = 0; row < kRegisterRows; ++row) {
#pragma GCC unroll 3
    for (int n = 0; n < kVectors; ++n) {
      sum[row][n] = FloatVector{};
      if (add) sum[row][n] = *reinterpret_cast<const FloatVector*>(c + row * c_stride + n * kVectorFloats);
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector b_k[kVectors];
#pragma GCC unroll 3
    for (int n = 0; n < kVectors; ++n) b_k[n] = *reinterpret_cast<const Vector*>(b + k * b_stride + n * kVectorFloats);
#pragma GCC unroll 8
    for (int row = 0; row < kRegisterRows; ++row) {
      auto a_k = kAccess == Access::kByRow ? a[row * a_stride + k] : a[k * a_stride + row];
#pragma GCC unroll 3
      for (int n = 0; n < kVectors; ++n) sum[row][n] = Words<E>::multiply_add(sum[row][n], a_k, b_k[n]);
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < kRegisterRows; ++row)
#pragma GCC unroll 3
    for (int n = 0; n < kVectors; ++n)
      *reinterpret_cast<FloatVector*>(c + row * c_stride + n * kVectorFloats) = sum[row][n];
}

// C[kRowBlock x columns] = A B, or += if `add`. columns is a multiple of kVectorFloats, depth is in words, strides are
// in words (a, b) and floats (c); b and c are aligned to vectors.
template <class E, Access kAccess>
inline void multiply_rows(const typename Words<E>::Word* a, std::int64_t a_stride, const typename Words<E>::Word* b,
                          std::int64_t b_stride, float* c, std::int64_t c_stride, std::int64_t columns,
                          std::int64_t depth, bool add) {
  std::int64_t a_row = kAccess == Access::kByRow ? a_stride : 1;
  for (int row = 0; row < kRowBlock; row += kRegisterRows) {
    const auto* a_rows = a + row * a_row;
    float* c_rows = c + row * c_stride;
    std::int64_t vectors = columns / kVectorFloats;
    for (std::int64_t n = 0; n < vectors;) {
      std::int64_t left = vectors - n;
      const auto* b_n = b + n * kVectorFloats;
      float* c_n = c_rows + n * kVectorFloats;
      if (left == 3 || left > 4) {  // 2 + 2 is faster than 3 + 1
        multiply_registers<E, kAccess, 3>(a_rows, a_stride, b_n, b_stride, c_n, c_stride, depth, add);
        n += 3;
      } else if (left >= 2) {
        multiply_registers<E, kAccess, 2>(a_rows, a_stride, b_n, b_stride, c_n, c_stride, depth, add);
        n += 2;
      } else {
        multiply_registers<E, kAccess, 1>(a_rows, a_stride, b_n, b_stride, c_n, c_stride, depth, add);
        n += 1;
      }
    }
  }
}

}  // namespace sink::cpu
