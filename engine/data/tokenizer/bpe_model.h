// A BPE tokenizer as plain data: the content of a tokenizer.json.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/tokenizer/pre_tokenize.h"

namespace sink {

// Adjacent left and right become result.
struct BpeMerge {
  std::int32_t left;
  std::int32_t right;
  std::int32_t result;
};

// A pair of ids as one key.
inline std::uint64_t pair_number(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

// A token that is found in the text before pre-tokenization.
struct AddedToken {
  std::int32_t id;
  std::string content;
  bool special;              // such as <|endoftext|>
  bool normalized;           // searched after the others, in normalised text
  bool takes_left = false;   // with the white space before it
  bool takes_right = false;  // with the white space after it
  bool single_word = false;  // only where no letter, digit or mark touches it
};

// Which stretches of text get a leading space where they have none; first: only at the beginning of the text.
enum class PrefixSpace { never, first, always };

// Tokens are bytes (byte-level BPE, as GPT-2) or characters (as LLaMA 2). Characters write spaces as U+2581, and their
// tokens <0x00> to <0xFF> encode the bytes of characters without a token.
struct BpeModel {
  static constexpr std::int32_t kNone = -1;

  bool byte_level = true;
  std::vector<std::string> bytes;  // of every id, as they are merged
  std::array<std::int32_t, 256> id_of_byte = [] {
    std::array<std::int32_t, 256> none;
    none.fill(kNone);
    return none;
  }();
  std::vector<bool> in_vocabulary;  // false for ids that only an added token owns
  std::vector<BpeMerge> merges;
  std::vector<std::int32_t> ranks;  // of the merges: the lowest merges first; empty: their places in the list
  std::vector<AddedToken> added;
  bool nfc = false;                               // text is brought into Unicode's composed form,
  bool prepends = false;                          // begins with U+2581
  bool replaces_spaces = false;                   // and has U+2581 for its spaces
  std::vector<Cut> cuts;                          // of the text, in this order; then
  bool metaspace = false;                         // what they leave has U+2581 for its spaces,
  PrefixSpace prefix_space = PrefixSpace::never;  // gets a leading space (of characters: U+2581), and
  bool words = true;                              // is cut by Cut::words (of characters: by Cut::metaspace)
  bool whole_pieces = false;         // a piece that is a token becomes it, whatever merges would make ("ignore_merges")
  std::int32_t unknown = kNone;      // replaces bytes without a token; kNone: they are dropped
  bool fuse_unknown = false;         // once for several such bytes in a row
  std::vector<std::int32_t> before;  // special tokens that a text begins with, where they are asked for
  std::vector<std::int32_t> after;   // and ends with
  // What decoding characters does in addition to making spaces of U+2581:
  bool decodes_bytes = true;        // <0x0A> becomes the byte
  std::size_t stripped_spaces = 0;  // so many go from the beginning of the text
  bool strips_first_token = false;  // all of the first token go
};

inline constexpr char kEndOfText[] = "<|endoftext|>";
inline constexpr char kPadding[] = "<|padding|>";

}  // namespace sink
