// What a byte-level BPE tokenizer consists of, as plain data: the same content as a tokenizer.json.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/tokenizer/pre_tokenize.h"

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
  bool special;              // left out of the vocabulary's ordinary text, as <|endoftext|>
  bool normalized;           // looked for after the others, in normalised text
  bool takes_left = false;   // with the white space before it
  bool takes_right = false;  // with the white space behind it
  bool single_word = false;  // only where no letter, digit or mark touches it
};

struct BpeModel {
  static constexpr std::int32_t kNone = -1;

  std::vector<std::string> bytes;  // of every id
  std::array<std::int32_t, 256> id_of_byte = [] {
    std::array<std::int32_t, 256> none;
    none.fill(kNone);
    return none;
  }();
  std::vector<bool> in_vocabulary;  // false for ids that only an added token owns
  std::vector<BpeMerge> merges;
  std::vector<AddedToken> added;
  bool nfc = false;                  // text is brought into Unicode's composed form
  std::vector<Cut> cuts;             // of the text, in this order; then
  bool prefix_space = false;         // what they leave gets a leading space where it has none; then
  bool words = true;                 // it is cut by Cut::words
  bool whole_pieces = false;         // a piece that is a token becomes it, whatever merges would make ("ignore_merges")
  std::int32_t unknown = kNone;      // stands for bytes without a token; kNone: they are left out
  bool fuse_unknown = false;         // once for several such bytes in a row
  std::vector<std::int32_t> before;  // special tokens that a text begins with, where they are asked for
  std::vector<std::int32_t> after;   // and ends with
};

inline constexpr char kEndOfText[] = "<|endoftext|>";
inline constexpr char kPadding[] = "<|padding|>";

}  // namespace sink
