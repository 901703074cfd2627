// What a byte-level BPE tokenizer consists of, as plain data: the same content as a tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sink {

// left and right, side by side, become result. Its place in the list is its rank: lower ranks merge first.
struct BpeMerge {
  std::int32_t left;
  std::int32_t right;
  std::int32_t result;
};

// A pair of ids as one number, to look it up by.
inline std::uint64_t pair_number(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

// A token found in the text as a whole, before anything else is cut.
struct AddedToken {
  std::int32_t id;
  std::string content;
  bool special;     // left out of the vocabulary's ordinary text, as <|endoftext|>
  bool normalized;  // looked for after the special ones, in normalised text
};

struct BpeModel {
  std::vector<std::string> bytes;   // of every id
  std::vector<bool> in_vocabulary;  // false for ids that only an added token owns
  std::vector<BpeMerge> merges;
  std::vector<AddedToken> added;
  bool nfc = false;  // the tokenizer expects text in Unicode's composed form; see Tokenizer
};

inline constexpr char kEndOfText[] = "<|endoftext|>";
inline constexpr char kPadding[] = "<|padding|>";

}  // namespace sink
