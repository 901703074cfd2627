// What a tile of kTile queries by kTile keys holds of the keys that queries may see: which of its parts are computed at
// all, and which single scores count.
#pragma once

#include "engine/key_range.h"
#include "engine/ops/attention/attention_pack.h"

namespace sink::cpu {

// The keys one query sees, relative to the tile: [0, prefix) and [first, last).
struct VisibleKeys {
  int prefix, first, last;
  bool operator()(int j) const { return (j < prefix) | ((j >= first) & (j < last)); }
};

// Only row blocks of queries (keys) against runs of keys (queries) that hold a visible pair are computed. Rounding
// these runs to whole vectors adds pairs that do not count; their weights are set to zero.
struct Tile {
  KeyRange range;
  std::int64_t i0, j0;                 // first query, first key
  int queries, keys;                   // padded to 16
  bool complete;                       // every query sees every key
  Span key_runs[kTile / kRowBlock];    // of each block of queries: keys, in whole vectors
  Span query_runs[kTile / kRowBlock];  // of each block of keys: queries, in whole row blocks

  // False if no query sees a key, or the tile is filled in.
  bool open(const KeyRange& key_range, std::int64_t T, std::int64_t first_query, std::int64_t first_key) {
    range = key_range;
    range.prefix = std::min(range.prefix, T);  // padding is no key
    i0 = first_query;
    j0 = first_key;
    queries = static_cast<int>(std::min<std::int64_t>(kTile, round_up(T - i0, 16)));
    keys = static_cast<int>(std::min<std::int64_t>(kTile, round_up(T - j0, 16)));
    Span all_queries{i0, i0 + queries}, all_keys{j0, j0 + keys};
    if (range.key_hull(all_queries, all_keys).empty()) return false;
    complete = range.sees_all(all_queries, all_keys);
    for (int block = 0; block * kRowBlock < queries; ++block) {
      std::int64_t i = i0 + block * kRowBlock;
      Span run = range.key_hull({i, i + kRowBlock}, all_keys);
      key_runs[block] =
          run.empty() ? Span{0, 0}
                      : Span{(run.begin - j0) / kVectorFloats * kVectorFloats, round_up(run.end - j0, kVectorFloats)};
    }
    for (int block = 0; block * kRowBlock < keys; ++block) {
      std::int64_t j = j0 + block * kRowBlock;
      Span run = range.query_hull(all_queries, {j, j + kRowBlock});
      query_runs[block] =
          run.empty() ? Span{0, 0} : Span{(run.begin - i0) / kRowBlock * kRowBlock, round_up(run.end - i0, kRowBlock)};
    }
    return true;
  }

  VisibleKeys visible(int row) const {
    std::int64_t i = i0 + row;
    auto relative = [&](std::int64_t j) { return static_cast<int>(std::clamp<std::int64_t>(j - j0, 0, kTile)); };
    return {relative(range.prefix), relative(range.first(i)), relative(i + 1)};
  }
};

}  // namespace sink::cpu
