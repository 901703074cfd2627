// A cache of the ids of pieces: natural text repeats its words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sink {

// One per tokenizer and thread. A hash table with its keys and values in two arrays: with std::unordered_map, encoding
// 40 MB of English with GPT-2's tokenizer takes 1.3 times as long. It is cleared at kMostPieces.
class EncodeCache {
 public:
  static constexpr std::size_t kLongestPiece = 64;  // bytes; longer pieces are not cached
  static constexpr std::size_t kMostPieces = std::size_t{1} << 19;

  // Appends the ids of `piece` to `ids`, by encode(piece, ids) where it is not cached.
  template <class Encode>
  void append(std::string_view piece, std::vector<std::int32_t>& ids, Encode&& encode) {
    if (piece.size() > kLongestPiece) return encode(piece, ids);
    std::uint64_t hash = hash_of(piece);
    std::size_t at = slot_of(piece, hash);
    if (slots_[at].hash == 0) {
      std::size_t from = ids.size();
      encode(piece, ids);
      return insert(at, hash, piece, {ids.data() + from, ids.size() - from});
    }
    const Slot& slot = slots_[at];
    if (slot.count == 1) return ids.push_back(values_[slot.value]);
    ids.insert(ids.end(), values_.begin() + slot.value, values_.begin() + slot.value + slot.count);
  }

  std::vector<std::string_view> pieces;  // scratch of the tokenizer
  std::string composed, normal, spaced;

 private:
  struct Slot {
    std::uint64_t hash = 0;  // 0: empty
    std::uint32_t key = 0, value = 0;
    std::uint32_t size = 0, count = 0;
  };

  static std::uint64_t hash_of(std::string_view piece);
  // The slot of the piece, or the empty slot where it would be inserted.
  std::size_t slot_of(std::string_view piece, std::uint64_t hash) const {
    std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.hash == 0 || (slot.hash == hash && std::string_view(keys_).substr(slot.key, slot.size) == piece))
        return at;
    }
  }
  void insert(std::size_t at, std::uint64_t hash, std::string_view piece, std::span<const std::int32_t> ids);

  std::vector<Slot> slots_ = std::vector<Slot>(256);  // the size is a power of two, at least half of it empty
  std::size_t used_ = 0;
  std::string keys_;
  std::vector<std::int32_t> values_;
};

}  // namespace sink
