// The mask of a tile of kTile queries by kTile keys: which blocks are computed, and which scores are visible.
#pragma once

#include <limits>
#include <type_traits>

#include "engine/key_range.h"
#include "engine/ops/attention/cpu/attention_panel.h"

namespace sink::cpu {

// The keys one query sees, relative to the tile: [0, prefix) and [first, last).
struct VisibleKeys {
  int prefix, first, last;
  bool operator()(int j) const { return (j < prefix) | ((j >= first) & (j < last)); }
};

// T queries from first_position on, and K keys.
struct AttentionSpan {
  std::int64_t T, K, first_position;
  KeyRange range;
};

// Each block of queries (keys) is computed with the range of keys (queries) that contains all of its visible pairs,
// rounded to whole vectors. The weights of the invisible pairs in it are set to zero.
struct Tile {
  KeyRange range;
  std::int64_t t0, i0, j0;             // first query, its position, first key
  int queries, keys;                   // padded to 16
  bool complete;                       // every query sees every key
  Span key_runs[kTile / kRowBlock];    // of each block of queries: keys, in whole vectors
  Span query_runs[kTile / kRowBlock];  // of each block of keys: queries, in whole row blocks

  // Sets the tile to the queries t0 ... and keys j0 ...; returns false if no query sees a key.
  bool open(const AttentionSpan& span, std::int64_t first_query, std::int64_t first_key);

  VisibleKeys visible(int row) const {
    std::int64_t i = i0 + row;
    auto relative = [&](std::int64_t j) { return static_cast<int>(std::clamp<std::int64_t>(j - j0, 0, kTile)); };
    return {relative(range.prefix), relative(range.first(i)), relative(i + 1)};
  }
};

// f(tile) for every tile of the queries t0 ... that contains a visible pair, in ascending order of keys.
template <class F>
void for_each_key_tile(const AttentionSpan& span, std::int64_t t0, F&& f) {
  Tile tile;
  for (std::int64_t j0 = 0; j0 < span.K; j0 += kTile)
    if (tile.open(span, t0, j0)) f(tile);
}

// f(block, std::bool_constant<every query sees every key>) for every block of kRowBlock queries of a tile.
template <class F>
void for_each_block(const Tile& tile, F&& f) {
  for (int block = 0; block * kRowBlock < tile.queries; ++block) {
    if (tile.complete) {
      f(block, std::true_type{});
    } else {
      f(block, std::false_type{});
    }
  }
}

// The largest visible score of a row of a tile; lowest() if there is none.
template <bool kComplete>
inline float row_max(const float* s, Span run, VisibleKeys visible, float scale) {
  FloatVector top = FloatVector{} + std::numeric_limits<float>::lowest();
  for (std::int64_t j = run.begin; j < run.end; j += kVectorFloats) {
    FloatVector x;
#pragma omp simd
    for (int n = 0; n < kVectorFloats; ++n)
      x[n] = kComplete || visible(static_cast<int>(j) + n) ? s[j + n] * scale : std::numeric_limits<float>::lowest();
    top = x > top ? x : top;
  }
  return largest_of(top);
}

}  // namespace sink::cpu
