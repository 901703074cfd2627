// Brings rows of q, k, v and do into the word order that tile_product.h wants, padded with zeros.
#pragma once

#include <array>
#include <cstring>

#include "engine/ops/attention/tile_product.h"
#include "engine/tensor.h"

namespace sink::cpu {

inline constexpr int kTile = 64;  // queries and keys of one tile

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

// Hands out pieces of one block of floats, each aligned to 64 bytes.
class Scratch {
 public:
  explicit Scratch(float* next) : next_(next) {}
  template <class Word>
  Word* take(std::int64_t count) {
    static_assert(sizeof(Word) == 4);
    float* piece = next_;
    next_ += round_up(count, 16);
    return reinterpret_cast<Word*>(piece);
  }

 private:
  float* next_;
};

// The sizes of one head's packs. Positions are padded to whole vectors of keys, widths to whole vectors.
template <class E>
struct PackSizes {
  static constexpr std::int64_t kPerWord = Words<E>::kPerWord;
  std::int64_t T, D;
  std::int64_t positions = round_up(T, 16);
  std::int64_t tiles = (T + kTile - 1) / kTile;
  std::int64_t width = round_up(D, kVectorFloats);
  std::int64_t depth = (D + kPerWord - 1) / kPerWord;       // words that hold one row
  std::int64_t row_words = round_up(depth, kVectorFloats);  // f32: as wide as `width`

  std::int64_t along() const { return positions * row_words; }
  std::int64_t down() const { return positions / kPerWord * width; }
  std::int64_t transposed() const { return tiles * depth * kTile; }
};

// Words along each row: out[i][d / kPerWord], rows of row_words. The A of a product over d.
template <class E>
void pack_along(const E* x, const PackSizes<E>& sizes, typename Words<E>::Word* out) {
  std::int64_t row_bytes = sizes.row_words * 4, x_bytes = sizes.D * static_cast<std::int64_t>(sizeof(E));
  for (std::int64_t i = 0; i < sizes.positions; ++i) {
    auto* row = reinterpret_cast<char*>(out + i * sizes.row_words);
    std::int64_t used = i < sizes.T ? x_bytes : 0;
    if (used) std::memcpy(row, x + i * sizes.D, used);
    std::memset(row + used, 0, row_bytes - used);
  }
}

// Words across rows: out[i / kPerWord][d], rows of width words. The B of a product over positions.
inline void pack_down(const bf16* x, const PackSizes<bf16>& sizes, Words<bf16>::Word* out) {
  std::int64_t D = sizes.D, rows = sizes.T;
  for (std::int64_t i = 0; i < sizes.positions; i += 2) {
    Words<bf16>::Word* row = out + i / 2 * sizes.width;
    const bf16* low = x + i * D;
    const bf16* high = low + D;
    std::int64_t used = i < rows ? D : 0;
    if (i + 1 < rows) {
#pragma omp simd
      for (std::int64_t d = 0; d < used; ++d) row[d] = low[d].bits | static_cast<std::uint32_t>(high[d].bits) << 16;
    } else {
      for (std::int64_t d = 0; d < used; ++d) row[d] = low[d].bits;
    }
    for (std::int64_t d = used; d < sizes.width; ++d) row[d] = 0;
  }
}

#if defined(__AVX512BF16__) && defined(__AVX512BW__)

// Rounds count numbers to bf16.
inline void round_row(const float* x, std::int64_t count, bf16* out) {
  std::int64_t j = 0;
  for (; j + 16 <= count; j += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + j), (__m256i)_mm512_cvtneps_pbh(_mm512_load_ps(x + j)));
  for (; j < count; ++j) out[j] = bf16(x[j]);
}
// Rounds two rows to the words that hold one number of each; out may be low, count is a multiple of 16.
inline void round_pair(const float* low, const float* high, std::int64_t count, Words<bf16>::Word* out) {
  // Conversion puts the 16 low numbers before the 16 high ones; the permutation interleaves them.
  constexpr auto kInterleave = [] {
    std::array<std::uint16_t, 32> from{};
    for (std::uint16_t n = 0; n < 16; ++n) from[2 * n] = n, from[2 * n + 1] = 16 + n;
    return from;
  }();
  __m512i interleave = _mm512_loadu_si512(kInterleave.data());
  for (std::int64_t j = 0; j < count; j += 16) {
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(_mm512_load_ps(high + j), _mm512_load_ps(low + j));
    _mm512_store_si512(out + j, _mm512_permutexvar_epi16(interleave, both));
  }
}

#else

inline void round_row(const float* x, std::int64_t count, bf16* out) {
  for (std::int64_t j = 0; j < count; ++j) out[j] = bf16(x[j]);
}
inline void round_pair(const float* low, const float* high, std::int64_t count, Words<bf16>::Word* out) {
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j)
    out[j] = bf16(low[j]).bits | static_cast<std::uint32_t>(bf16(high[j]).bits) << 16;
}

#endif

// The words of x along its rows: x itself where it lies in this order already, or a pack in scratch.
template <class E>
const typename Words<E>::Word* words_along(const E* x, const PackSizes<E>& sizes, Scratch& scratch) {
  using Word = typename Words<E>::Word;
  bool packed = sizes.D * static_cast<std::int64_t>(sizeof(E)) == sizes.row_words * 4 && sizes.T == sizes.positions &&
                reinterpret_cast<std::uintptr_t>(x) % sizeof(FloatVector) == 0;
  if (packed) return reinterpret_cast<const Word*>(x);
  Word* along = scratch.take<Word>(sizes.along());
  pack_along(x, sizes, along);
  return along;
}

// The words of x across its rows; in f32 they are the words along them.
inline const float* words_down(const float*, const PackSizes<float>&, const float* along, Scratch&) { return along; }
inline const Words<bf16>::Word* words_down(const bf16* x, const PackSizes<bf16>& sizes, const Words<bf16>::Word*,
                                           Scratch& scratch) {
  auto* down = scratch.take<Words<bf16>::Word>(sizes.down());
  pack_down(x, sizes, down);
  return down;
}

// out[j][i] = in[i][j] for a square block of kVectorFloats words a side.
inline void transpose_block(const std::uint32_t* in, std::int64_t in_stride, std::uint32_t* out,
                            std::int64_t out_stride) {
  constexpr int kSide = kVectorFloats;
  WordVector rows[kSide], zipped[kSide];
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) std::memcpy(&rows[i], in + i * in_stride, sizeof(WordVector));
  // Zipping row i with row i + side / 2 rotates the bits of (row, column) by one place; after log2(side) rounds row and
  // column have changed places.
  WordVector low, high;
  for (int n = 0; n < kSide; ++n) {
    low[n] = static_cast<std::uint32_t>(n / 2 + n % 2 * kSide);
    high[n] = low[n] + kSide / 2;
  }
#pragma GCC unroll 4
  for (int round = 1; round < kSide; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < kSide / 2; ++i) {
      zipped[2 * i] = __builtin_shuffle(rows[i], rows[i + kSide / 2], low);
      zipped[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + kSide / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) rows[i] = zipped[i];
  }
#pragma GCC unroll 16
  for (int j = 0; j < kSide; ++j) std::memcpy(out + j * out_stride, &rows[j], sizeof(WordVector));
}

// Words along each row, transposed tile by tile: [tile][d / kPerWord][j], j < kTile. The B of a product over d.
template <class E>
const typename Words<E>::Word* words_transposed(const typename Words<E>::Word* along, const PackSizes<E>& sizes,
                                                Scratch& scratch) {
  constexpr int kSide = kVectorFloats;
  using Word = typename Words<E>::Word;
  Word* transposed = scratch.take<Word>(sizes.transposed());
  for (std::int64_t j = 0; j < sizes.positions; j += kSide) {
    Word* tile = transposed + j / kTile * sizes.depth * kTile + j % kTile;
    std::int64_t whole = sizes.depth / kSide * kSide;
    for (std::int64_t d = 0; d < whole; d += kSide) {
      transpose_block(reinterpret_cast<const std::uint32_t*>(along + j * sizes.row_words + d), sizes.row_words,
                      reinterpret_cast<std::uint32_t*>(tile + d * kTile), kTile);
    }
    for (std::int64_t d = whole; d < sizes.depth; ++d)
      for (int i = 0; i < kSide; ++i) tile[d * kTile + i] = along[(j + i) * sizes.row_words + d];
  }
  return transposed;
}

}  // namespace sink::cpu
