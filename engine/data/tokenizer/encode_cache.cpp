#include "engine/data/tokenizer/encode_cache.h"

#include <cstring>

namespace sink {

// Eight bytes a step, multiplied and folded; never 0.
std::uint64_t EncodeCache::hash_of(std::string_view piece) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;
  std::uint64_t hash = piece.size() * kFactor;
  auto mix = [&](std::uint64_t eight) {
    hash = (hash ^ eight) * kFactor;
    hash ^= hash >> 29;
  };
  std::size_t at = 0;
  for (; at + 8 <= piece.size(); at += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, piece.data() + at, 8);
    mix(eight);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, piece.data() + at, piece.size() - at);
  mix(rest);
  return (hash ^ hash >> 32) | 1u << 31;
}

void EncodeCache::insert(std::size_t at, std::uint64_t hash, std::string_view piece,
                         std::span<const std::int32_t> ids) {
  if (used_ == kMostPieces) {
    slots_.assign(slots_.size(), {});
    keys_.clear();
    values_.clear();
    used_ = 0;
    at = slot_of(piece, hash);
  }
  slots_[at] = {hash, static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(values_.size()),
                static_cast<std::uint32_t>(piece.size()), static_cast<std::uint32_t>(ids.size())};
  keys_ += piece;
  values_.insert(values_.end(), ids.begin(), ids.end());
  if (2 * ++used_ <= slots_.size()) return;
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(4 * old.size(), {});
  for (const Slot& slot : old) {
    if (slot.hash != 0) slots_[slot_of(std::string_view(keys_).substr(slot.key, slot.size), slot.hash)] = slot;
  }
}

}  // namespace sink
