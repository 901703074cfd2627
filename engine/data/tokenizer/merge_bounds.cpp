#include "engine/data/tokenizer/merge_bounds.h"

#include <algorithm>
#include <bit>

#include "engine/io/utf8.h"

namespace sink {

namespace {

std::uint32_t code_at(std::string_view text, std::size_t at) {
  std::uint32_t code = 0;
  utf8_length(text, at, &code);
  return code;
}

std::uint32_t last_code(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return code_at(text, at);
}

}  // namespace

MergeBounds::MergeBounds(const BpeModel& model) {
  constexpr std::size_t kBitsEach = 32;
  std::size_t bits = std::bit_ceil(std::max<std::size_t>(64, kBitsEach * model.merges.size()));
  joined_.resize(bits / 64);
  shift_ = 64 - std::countr_zero(bits);
  if (model.byte_level) return;
  // Unknown characters become one token or none, and merges of bytes or of the unknown token join what is no character
  // of theirs: then only characters that are tokens have bounds between them.
  bool all_bytes =
      std::find(model.id_of_byte.begin(), model.id_of_byte.end(), BpeModel::kNone) == model.id_of_byte.end();
  bool of_characters = all_bytes;
  std::vector<bool> stands_for_other(model.bytes.size());
  if (model.unknown != BpeModel::kNone) stands_for_other[static_cast<std::size_t>(model.unknown)] = true;
  for (std::int32_t id : model.id_of_byte) {
    if (id != BpeModel::kNone) stands_for_other[static_cast<std::size_t>(id)] = true;
  }
  for (const BpeMerge& merge : model.merges) {
    auto left = static_cast<std::size_t>(merge.left), right = static_cast<std::size_t>(merge.right);
    if (stands_for_other[left] || stands_for_other[right]) of_characters = false;
    if (model.bytes[left].empty() || model.bytes[right].empty()) continue;
    std::size_t bit = bit_of(last_code(model.bytes[left]), code_at(model.bytes[right], 0));
    joined_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  if (of_characters) return;
  known_.resize(0x110000);
  for (std::size_t id = 0; id < model.bytes.size(); ++id) {
    const std::string& token = model.bytes[id];
    std::uint32_t code = 0;
    if (model.in_vocabulary[id] && utf8_length(token, 0, &code) == static_cast<int>(token.size())) known_[code] = true;
  }
}

bool MergeBounds::joins(std::uint32_t left, std::uint32_t right) const {
  std::size_t bit = bit_of(left, right);
  return joined_[bit / 64] >> bit % 64 & 1 || (!known_.empty() && !(known_[left] && known_[right]));
}

std::size_t MergeBounds::end_of(std::string_view text, std::size_t at) const {
  std::string_view longest = utf8_prefix(text.substr(at), kLongestPiece);
  std::uint32_t left = 0, right = 0;
  std::size_t end = static_cast<std::size_t>(utf8_length(longest, 0, &left));
  while (end < longest.size()) {
    auto length = static_cast<std::size_t>(utf8_length(longest, end, &right));
    if (!joins(left, right)) break;
    end += length;
    left = right;
  }
  return at + end;
}

}  // namespace sink
