// Merges the bytes or characters of a piece of text into tokens, by the rules of a tokenizer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

class BpeRules {
 public:
  explicit BpeRules(const BpeModel& model);

  // Appends the ids of `piece` (not empty, at most kLongestPiece bytes) to `ids`. Merges the adjacent pair of the
  // lowest rank, the leftmost among equals, until no rule applies: O(n log n) for n bytes.
  void merge(std::string_view piece, std::vector<std::int32_t>& ids) const;

  // The token equal to `piece` where the tokenizer does not merge such pieces (ignore_merges), else kNone.
  std::int32_t whole(std::string_view piece) const;

  // Appends whole(piece), else merges.
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const;

 private:
  static constexpr std::int32_t kNoRule = INT32_MAX;
  struct Rule {
    std::int32_t rank = kNoRule;
    std::int32_t result = 0;
  };
  struct Entry {
    std::uint64_t pair = kEmpty;
    Rule rule;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  std::size_t entry_of(std::uint64_t pair) const;
  Rule rule_of(std::int32_t left, std::int32_t right) const { return table_[entry_of(pair_number(left, right))].rule; }
  void append_bytes(std::string_view piece, std::vector<std::int32_t>& symbols) const;
  void append_characters(std::string_view piece, std::vector<std::int32_t>& symbols) const;
  bool append_fallback(std::string_view character, std::vector<std::int32_t>& symbols) const;
  void merge_short(std::vector<std::int32_t>& ids, std::size_t from) const;
  void merge_long(std::vector<std::int32_t>& ids, std::size_t from) const;

  bool byte_level_;
  std::array<std::int32_t, 256> id_of_byte_;
  std::vector<std::int32_t> id_of_character_;  // by code point, up to the largest with a token
  std::int32_t unknown_;
  bool fuse_unknown_;
  // Open addressing by the hash of the pair; the size is a power of two, at least half of it empty. With
  // std::unordered_map, encoding 40 MB of English with GPT-2's tokenizer takes 1.2 times as long.
  std::vector<Entry> table_;
  std::unordered_map<std::string, std::int32_t> id_of_piece_;  // of all tokens, for whole()
};

}  // namespace sink
