// Cuts long text of character-level tokenizers between characters that no merge joins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// Without a pre-tokenizer a text is one piece of any length. A merge of `left` and `right` joins the last character of
// one and the first of the other; between two adjacent characters that no merge joins, both sides merge independently.
// Cutting there makes words repeat, so that the cache works, and bounds the memory of merging. The set of joined pairs
// has false positives, which only cost time.
class MergeBounds {
 public:
  explicit MergeBounds(const BpeModel& model);

  // The end of the stretch that begins at `at` in `text` (valid UTF-8), at most kLongestPiece bytes later.
  std::size_t end_of(std::string_view text, std::size_t at) const;

 private:
  std::size_t bit_of(std::uint32_t left, std::uint32_t right) const {
    return ((left * 0x9E3779B97F4A7C15u) ^ (right * 0xC2B2AE3D27D4EB4Fu)) >> shift_;
  }
  bool joins(std::uint32_t left, std::uint32_t right) const;

  std::vector<std::uint64_t> joined_;  // a Bloom filter with one bit per pair of characters
  int shift_;
  std::vector<bool> known_;  // characters that are tokens; empty: others are bounds, too
};

}  // namespace sink
