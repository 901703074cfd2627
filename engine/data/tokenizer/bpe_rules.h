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

  // Appends the ids of `piece` (not empty, at most kLongestPiece bytes) to `ids`. Neighbours merge, always those of the
  // lowest rank and of equals the leftmost, until no rule fits: n log n steps for n bytes.
  void merge(std::string_view piece, std::vector<std::int32_t>& ids) const;

  // The token that `piece` is as a whole where such pieces are not merged, or kNone.
  std::int32_t whole(std::string_view piece) const;

  // The token that it is as a whole, or what merging makes of it.
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
  std::vector<std::int32_t> id_of_character_;  // by its code, as far as any has a token
  std::int32_t unknown_;
  bool fuse_unknown_;
  // By the hash of the pair, at its place or after it; a power of two of them, at least half of them empty. With
  // std::unordered_map, encoding 40 MB of English by GPT-2's tokenizer takes 1.2 times as long.
  std::vector<Entry> table_;
  std::unordered_map<std::string, std::int32_t> id_of_piece_;  // of all tokens, where pieces are looked up as a whole
};

}  // namespace sink
