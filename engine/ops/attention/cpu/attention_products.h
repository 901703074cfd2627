// The three products of attention on one tile, restricted to the blocks that contain visible pairs.
#pragma once

#include "engine/ops/attention/cpu/attention_tile.h"

namespace sink::cpu {

// S = Q K^T of a tile, unscaled: s[kTile][kTile]. q is a panel by row, k_T this key tile transposed.
template <class E>
void score_tile(const Tile& tile, const PanelSizes<E>& sizes, const typename Words<E>::Word* q,
                const typename Words<E>::Word* k_T, float* s) {
  for (int block = 0; block * kRowBlock < tile.queries; ++block) {
    auto [begin, end] = tile.key_runs[block];
    multiply_rows<E, Access::kByRow>(q + block * kRowBlock * sizes.row_words, sizes.row_words, k_T + begin, kTile,
                                     s + block * kRowBlock * kTile + begin, kTile, end - begin, sizes.depth, false);
  }
}

// C += W B over the keys of a tile. w[kTile][kTile] is row-major, of type E; b is a panel by row pair.
template <class E>
void mix_keys(const Tile& tile, const PanelSizes<E>& sizes, const E* w, const typename Words<E>::Word* b, float* c) {
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
  constexpr int kPerWord = Words<E>::kPerWord;
  const auto* w_words = reinterpret_cast<const typename Words<E>::Word*>(w);
  for (int block = 0; block * kRowBlock < tile.keys; ++block) {
    auto [begin, end] = tile.query_runs[block];
    multiply_rows<E, Access::kByColumn>(
        w_words + begin * kTile + block * kRowBlock, kTile * kPerWord, b + begin / kPerWord * sizes.width, sizes.width,
        c + block * kRowBlock * sizes.width, sizes.width, sizes.width, (end - begin) / kPerWord, true);
  }
}

// Rounds a tile to bf16.
inline void round_rows(const Tile& tile, const float* x, bf16* out) {
  for (int i = 0; i < tile.queries; ++i) {
    auto [begin, end] = tile.key_runs[i / kRowBlock];
    round_row(x + i * kTile + begin, end - begin, out + i * kTile + begin);
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
