// Unicode character classes that the tokenizers use: letter, number, white space and others.
#pragma once

#include <cstdint>

namespace sink {

// Bits of a class. The first three exclude each other; a character without any of them is a sign. The last two give the
// case of letters and the kind of other characters.
inline constexpr std::uint8_t kLetter = 1;        // \p{L}
inline constexpr std::uint8_t kNumber = 2;        // \p{N}
inline constexpr std::uint8_t kSpace = 4;         // \s, Unicode's White_Space
inline constexpr std::uint8_t kNumeric = 8;       // a digit for the step "Digits"
inline constexpr std::uint8_t kInWord = 16;       // \w; a single_word token is not adjacent to one
inline constexpr std::uint8_t kUpper = 32;        // with kLetter: \p{Lu} and \p{Lt}
inline constexpr std::uint8_t kLower = 64;        // with kLetter: \p{Ll}
inline constexpr std::uint8_t kMark = 32;         // without: \p{M}
inline constexpr std::uint8_t kPunctuation = 64;  // without: \p{P}

// The classes by code point, below 0x110000, as in the `tokenizers` package 0.23: Unicode 16 in its regular
// expressions, Unicode 17 for kNumeric, and Unicode 15 for kInWord except for characters of \p{L} and \p{N}.
const std::uint8_t* character_classes();

}  // namespace sink
