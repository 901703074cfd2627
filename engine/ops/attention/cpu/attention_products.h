// The three products of attention on one tile, restricted to the blocks that contain visible pairs. bf16 products are
// computed on AMX tiles where the processor has them, in blocks of 32 rows.
#pragma once

#include "engine/ops/attention/cpu/amx_tiles.h"
#include "engine/ops/attention/cpu/attention_tile.h"

namespace sink::cpu {

inline constexpr int kAmxRows = 32;
// The range that contains all runs of the row blocks of 32 rows, in steps of `unit`.
inline Span amx_run(const Span* runs, int first_row, int rows, std::int64_t unit) {
  Span all{kTile, 0};
  for (int block = first_row / kRowBlock; block * kRowBlock < first_row + rows; ++block)
    if (!runs[block].empty()) all = {std::min(all.begin, runs[block].begin), std::max(all.end, runs[block].end)};
  return all.empty() ? Span{0, 0} : Span{all.begin / unit * unit, round_up(all.end, unit)};
}

// f(first row, count of rows, run) for each 32 of `rows` rows, which are a multiple of 16.
template <class F>
void for_each_amx_block(const Span* runs, int rows, std::int64_t unit, F&& f) {
  for (int row = 0; row < rows; row += kAmxRows) {
    int count = std::min(kAmxRows, rows - row);
    Span run = amx_run(runs, row, count, unit);
    if (!run.empty()) f(row, count, run);
  }
}

// The products of a tile on AMX tiles or, with PlainTiles, in loops with the same bits. The parameters are those of
// score_tile, mix_keys and mix_queries below.
template <class Tiles>
struct AmxProducts {
  using Word = Words<bf16>::Word;
  static constexpr std::int64_t kDepth = 2 * kAmxSide;  // values of one step
  using Sizes = PanelSizes<bf16>;

  static const std::uint32_t* words(const void* x) { return static_cast<const std::uint32_t*>(x); }

  static void score_tile(Tiles& tiles, const Tile& tile, const Sizes& sizes, const Word* q, const Word* k_T, float* s) {
    for_each_amx_block(tile.key_runs, tile.queries, kAmxSide, [&](int row, int count, Span run) {
      multiply_tiles(tiles, words(q + row * sizes.row_words), sizes.row_words, words(k_T + run.begin), kTile,
                     s + row * kTile + run.begin, kTile, count, run.end - run.begin, sizes.row_words, false);
    });
  }
  static void mix_keys(Tiles& tiles, const Tile& tile, const Sizes& sizes, const bf16* w, const Word* b, float* c) {
    for_each_amx_block(tile.key_runs, tile.queries, kDepth, [&](int row, int count, Span run) {
      multiply_tiles(tiles, words(w) + (row * kTile + run.begin) / 2, kTile / 2, words(b + run.begin / 2 * sizes.width),
                     sizes.width, c + row * sizes.width, sizes.width, count, sizes.width, (run.end - run.begin) / 2,
                     true);
    });
  }
  static void mix_queries(Tiles& tiles, const Tile& tile, const Sizes& sizes, const float* w, const Word* b, float* c) {
    alignas(64) std::uint32_t w_T[kAmxRows * kTile / 2];
    for_each_amx_block(tile.query_runs, tile.keys, kDepth, [&](int row, int count, Span run) {
      for (std::int64_t k = run.begin / 2; k < run.end / 2; k += kAmxSide)
        for (int j = 0; j < count; j += kAmxSide)
          transpose_words(words(w) + 2 * k * kTile + row + j, 2 * kTile, w_T + j * (kTile / 2) + k, kTile / 2);
      multiply_tiles(tiles, w_T + run.begin / 2, kTile / 2, words(b + run.begin / 2 * sizes.width), sizes.width,
                     c + row * sizes.width, sizes.width, count, sizes.width, (run.end - run.begin) / 2, true);
    });
  }
  // out[j][i] = in[i][j] for 16 x 16 words
  static void transpose_words(const std::uint32_t* in, std::int64_t in_stride, std::uint32_t* out,
                              std::int64_t out_stride) {
    for (int i = 0; i < kAmxSide; i += kVectorFloats)
      for (int j = 0; j < kAmxSide; j += kVectorFloats)
        transpose_block(in + i * in_stride + j, in_stride, out + j * out_stride + i, out_stride);
  }
};

// Calls f with the AMX tiles and returns true, where E is bf16 and the processor and the system have them.
template <class E, class F>
bool on_amx([[maybe_unused]] F&& f) {
#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
  if constexpr (std::is_same_v<E, bf16>) {
    if (!AmxTiles::available()) return false;
    AmxTiles tiles;
    f(tiles);
    return true;
  }
#endif
  return false;
}

// S = Q K^T of a tile, unscaled: s[kTile][kTile]. q is a panel by row, k_T this key tile transposed.
template <class E>
void score_tile(const Tile& tile, const PanelSizes<E>& sizes, const typename Words<E>::Word* q,
                const typename Words<E>::Word* k_T, float* s) {
  if (on_amx<E>([&]<class Tiles>(Tiles& tiles) { AmxProducts<Tiles>::score_tile(tiles, tile, sizes, q, k_T, s); }))
    return;
  for (int block = 0; block * kRowBlock < tile.queries; ++block) {
    auto [begin, end] = tile.key_runs[block];
    multiply_rows<E, Access::kByRow>(q + block * kRowBlock * sizes.row_words, sizes.row_words, k_T + begin, kTile,
                                     s + block * kRowBlock * kTile + begin, kTile, end - begin, sizes.depth, false);
  }
}

// C += W B over the keys of a tile. w[kTile][kTile] is row-major, of type E; b is a panel by row pair.
template <class E>
void mix_keys(const Tile& tile, const PanelSizes<E>& sizes, const E* w, const typename Words<E>::Word* b, float* c) {
  if (on_amx<E>([&]<class Tiles>(Tiles& tiles) { AmxProducts<Tiles>::mix_keys(tiles, tile, sizes, w, b, c); })) return;
  constexpr int kPerWord = Words<E>::kPerWord;
  const auto* w_words = reinterpret_cast<const typename Words<E>::Word*>(w);
  for (int block = 0; block * kRowBlock < tile.queries; ++block) {
    auto [begin, end] = tile.key_runs[block];
    multiply_rows<E, Access::kByRow>(
        w_words + (block * kRowBlock * kTile + begin) / kPerWord, kTile / kPerWord, b + begin / kPerWord * sizes.width,
        sizes.width, c + block * kRowBlock * sizes.width, sizes.width, sizes.width, (end - begin) / kPerWord, true);
  }
}

// C += W^T B over the queries of a tile. w[kTile][kTile] is packed by row pair, in every kPerWord-th row; so is b.
template <class E>
void mix_queries(const Tile& tile, const PanelSizes<E>& sizes, const float* w, const typename Words<E>::Word* b,
                 float* c) {
  if (on_amx<E>([&]<class Tiles>(Tiles& tiles) { AmxProducts<Tiles>::mix_queries(tiles, tile, sizes, w, b, c); }))
    return;
  constexpr int kPerWord = Words<E>::kPerWord;
  const auto* w_words = reinterpret_cast<const typename Words<E>::Word*>(w);
  for (int block = 0; block * kRowBlock < tile.keys; ++block) {
    auto [begin, end] = tile.query_runs[block];
    multiply_rows<E, Access::kByColumn>(
        w_words + begin * kTile + block * kRowBlock, kTile * kPerWord, b + begin / kPerWord * sizes.width, sizes.width,
        c + block * kRowBlock * sizes.width, sizes.width, sizes.width, (end - begin) / kPerWord, true);
  }
}

// Rounds a tile to bf16, with zeros outside the runs, which blocks of 32 rows read.
inline void round_rows(const Tile& tile, const float* x, bf16* out) {
  for (int i = 0; i < tile.queries; ++i) {
    auto [begin, end] = tile.key_runs[i / kRowBlock];
    bf16* out_i = out + i * kTile;
    std::fill_n(out_i, begin, bf16{});
    round_row(x + i * kTile + begin, end - begin, out_i + begin);
    std::fill(out_i + end, out_i + kTile, bf16{});
  }
}

// Compiled once, in attention_products.cpp, and not again with every operation.
#define SINK_ATTENTION_PRODUCTS(prefix, E)               \
  prefix template decltype(score_tile<E>) score_tile<E>; \
  prefix template decltype(mix_keys<E>) mix_keys<E>;     \
  prefix template decltype(mix_queries<E>) mix_queries<E>;
SINK_ATTENTION_PRODUCTS(extern, float)
SINK_ATTENTION_PRODUCTS(extern, bf16)

}  // namespace sink::cpu
