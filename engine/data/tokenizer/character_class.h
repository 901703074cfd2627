// Which characters are letters, numbers and white space to the tokenizers.
#pragma once

#include <cstdint>

namespace sink {

// Bits of a class. The first three exclude each other; a character that has none of them is a sign. The last two say of
// letters what case they have, and of others what they are.
inline constexpr std::uint8_t kLetter = 1;        // \p{L}
inline constexpr std::uint8_t kNumber = 2;        // \p{N}
inline constexpr std::uint8_t kSpace = 4;         // \s, Unicode's White_Space
inline constexpr std::uint8_t kNumeric = 8;       // what the step "Digits" takes for a digit
inline constexpr std::uint8_t kInWord = 16;       // \w, beside which a token of a single word does not stand
inline constexpr std::uint8_t kUpper = 32;        // with kLetter: \p{Lu} and \p{Lt}
inline constexpr std::uint8_t kLower = 64;        // with kLetter: \p{Ll}
inline constexpr std::uint8_t kMark = 32;         // without: \p{M}
inline constexpr std::uint8_t kPunctuation = 64;  // without: \p{P}

// The class of every character, by its code below 0x110000: as the `tokenizers` package 0.23 has them, whose regular
// expressions know Unicode 16. kNumeric is of Unicode 17, and kInWord of 15 beyond letters and numbers.
const std::uint8_t* character_classes();

}  // namespace sink
