// Where a long text of characters falls apart: between two characters over which no merge of the tokenizer reaches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// Text without a pre-tokenizer is one piece, however long. A merge of `left` and `right` reaches over the place between
// the last character of one and the first of the other; where two characters stand side by side that no merge joins so,
// what is before and what is behind merge for themselves. So words are met again and a cache serves, and the memory of
// merging is that of a stretch. Knows every pair that a merge joins, and takes a few others for one: that costs time
// only.
class MergeBounds {
 public:
  explicit MergeBounds(const BpeModel& model);

  // The end of the stretch that begins at `at` in `text` (valid UTF-8): the next such place, or the end of the text.
  // A stretch of more than kLongestPiece bytes is cut there, as pieces are.
  std::size_t end_of(std::string_view text, std::size_t at) const;

 private:
  std::size_t bit_of(std::uint32_t left, std::uint32_t right) const {
    return ((left * 0x9E3779B97F4A7C15u) ^ (right * 0xC2B2AE3D27D4EB4Fu)) >> shift_;
  }
  bool joins(std::uint32_t left, std::uint32_t right) const;

  std::vector<std::uint64_t> joined_;  // a bit for each pair of characters, at a place that pairs may share
  int shift_;
  std::vector<bool> known_;  // characters that are tokens; empty: places between others are bounds, too
};

}  // namespace sink
