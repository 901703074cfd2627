// Copies rows of q, k, v and do into panels: the layouts that tile_product.h multiplies.
#pragma once

#include <array>
#include <cstring>

#include "engine/ops/attention/cpu/tile_product.h"
#include "engine/scratch.h"

namespace sink::cpu {

inline constexpr int kTile = 64;  // queries and keys of one tile

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

// The sizes of the panels of one head's q, k, v or do. Rows and widths are padded to whole vectors.
template <class E>
struct PanelSizes {
  static constexpr std::int64_t kPerWord = Words<E>::kPerWord;
  std::int64_t rows, D;
  std::int64_t padded = round_up(rows, 16);
  std::int64_t tiles = (rows + kTile - 1) / kTile;
  std::int64_t width = round_up(D, kVectorFloats);
  std::int64_t depth = (D + kPerWord - 1) / kPerWord;                           // words per row
  std::int64_t row_words = round_up(depth, kPerWord > 1 ? 16 : kVectorFloats);  // f32: equals `width`
  std::int64_t padded_pairs() const { return round_up(rows, 32); }              // rows of a panel by row pair
};

#if defined(__AVX512BF16__) && defined(__AVX512BW__)

// Rounds `count` values to bf16.
inline void round_row(const float* x, std::int64_t count, bf16* out) {
  std::int64_t j = 0;
  for (; j + 16 <= count; j += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + j), (__m256i)_mm512_cvtneps_pbh(_mm512_load_ps(x + j)));
  for (; j < count; ++j) out[j] = bf16(x[j]);
}
// Rounds two rows to words that hold one value of each. out may alias low; count is a multiple of 16.
inline void round_pair(const float* low, const float* high, std::int64_t count, Words<bf16>::Word* out) {
  // The conversion stores 16 low values before 16 high ones; the permutation interleaves them.
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

// out = factor * sum, a row of D values. Overwrites sum where out is bf16.
inline void store_row(float* sum, float factor, std::int64_t D, float* out) {
  for (std::int64_t d = 0; d < D; ++d) out[d] = sum[d] * factor;
}
inline void store_row(float* sum, float factor, std::int64_t D, bf16* out) {
  for (std::int64_t d = 0; d < D; ++d) sum[d] *= factor;
  round_row(sum, D, out);
}

// out[j][i] = in[i][j] for a square block of kVectorFloats x kVectorFloats words.
inline void transpose_block(const std::uint32_t* in, std::int64_t in_stride, std::uint32_t* out,
                            std::int64_t out_stride) {
  constexpr int kSide = kVectorFloats;
  WordVector rows[kSide], zipped[kSide];
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) std::memcpy(&rows[i], in + i * in_stride, sizeof(WordVector));
  // Zipping row i with row i + side / 2 rotates the bits of (row, column) by one; log2(side) rounds swap row and
  // column.
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

// The layout of a panel.
enum Packing : int {
  kByRow = 1,       // [i][d / kPerWord], rows of row_words: the A of a product over d
  kByRowPair = 2,   // [i / kPerWord][d], rows of `width`: the B of a product over i. bf16: a word holds two values of a
                    // column (the VNNI layout of bf16 dot products); f32: the same as kByRow
  kTransposed = 4,  // kByRow transposed tile by tile: [tile][d / kPerWord][j], j < kTile: the B of a product over d
};

// The panels of one of a head's tensors, in scratch memory, padded with zeros. A tensor that has the layout kByRow
// already is not copied.
template <class E>
class Panel {
 public:
  using Word = typename Words<E>::Word;
  const Word *by_row = nullptr, *by_row_pair = nullptr, *transposed = nullptr;

  Panel(const PanelSizes<E>& sizes, int packings, Scratch& scratch);
  void load(const E* x);

 private:
  void load_by_row(const E* x);
  void load_by_row_pair(const E* x);
  void load_transposed();

  PanelSizes<E> sizes_;
  Word *row_memory_ = nullptr, *pair_memory_ = nullptr, *transposed_memory_ = nullptr;
};

template <class E>
Panel<E>::Panel(const PanelSizes<E>& sizes, int packings, Scratch& scratch) : sizes_(sizes) {
  constexpr bool kPairs = Words<E>::kPerWord > 1;
  bool rows = packings & (kByRow | kTransposed) || !kPairs;
  if (rows) row_memory_ = scratch.take<Word>(sizes.padded * sizes.row_words);
  if (kPairs && packings & kByRowPair)
    pair_memory_ = scratch.take<Word>(sizes.padded_pairs() / Words<E>::kPerWord * sizes.width);
  if (packings & kTransposed) transposed_memory_ = scratch.take<Word>(sizes.tiles * sizes.row_words * kTile);
}

template <class E>
void Panel<E>::load(const E* x) {
  if (row_memory_) load_by_row(x);
  by_row_pair = by_row;
  if (pair_memory_) load_by_row_pair(x);
  if (transposed_memory_) load_transposed();
}

template <class E>
void Panel<E>::load_by_row(const E* x) {
  std::int64_t row_bytes = sizes_.row_words * 4, x_bytes = sizes_.D * static_cast<std::int64_t>(sizeof(E));
  bool in_place = x_bytes == row_bytes && sizes_.rows == sizes_.padded &&
                  reinterpret_cast<std::uintptr_t>(x) % sizeof(FloatVector) == 0;
  by_row = in_place ? reinterpret_cast<const Word*>(x) : row_memory_;
  for (std::int64_t i = 0; i < sizes_.padded && !in_place; ++i) {
    auto* row = reinterpret_cast<char*>(row_memory_ + i * sizes_.row_words);
    std::int64_t used = i < sizes_.rows ? x_bytes : 0;
    if (used) std::memcpy(row, x + i * sizes_.D, used);
    std::memset(row + used, 0, row_bytes - used);
  }
}

template <>
inline void Panel<float>::load_by_row_pair(const float*) {}
template <>
inline void Panel<bf16>::load_by_row_pair(const bf16* x) {
  std::int64_t D = sizes_.D, rows = sizes_.rows;
  for (std::int64_t i = 0; i < sizes_.padded_pairs(); i += 2) {
    Word* row = pair_memory_ + i / 2 * sizes_.width;
    const bf16* low = x + std::min(i, rows) * D;
    const bf16* high = low + D;
    std::int64_t used = i < rows ? D : 0;
    if (i + 1 < rows) {
#pragma omp simd
      for (std::int64_t d = 0; d < used; ++d) row[d] = low[d].bits | static_cast<std::uint32_t>(high[d].bits) << 16;
    } else {
      for (std::int64_t d = 0; d < used; ++d) row[d] = low[d].bits;
    }
    for (std::int64_t d = used; d < sizes_.width; ++d) row[d] = 0;
  }
  by_row_pair = pair_memory_;
}

template <class E>
void Panel<E>::load_transposed() {
  constexpr int kSide = kVectorFloats;
  transposed = transposed_memory_;
  for (std::int64_t j = 0; j < sizes_.padded; j += kSide) {
    Word* tile = transposed_memory_ + j / kTile * sizes_.row_words * kTile + j % kTile;
    for (std::int64_t d = 0; d < sizes_.row_words; d += kSide) {
      transpose_block(reinterpret_cast<const std::uint32_t*>(by_row + j * sizes_.row_words + d), sizes_.row_words,
                      reinterpret_cast<std::uint32_t*>(tile + d * kTile), kTile);
    }
  }
}

// Compiled once, in attention_products.cpp.
extern template class Panel<float>;
extern template class Panel<bf16>;

}  // namespace sink::cpu
