// Cuts text into the pieces that byte pairs may not cross: words with their leading space, numbers, signs, white space.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace sink {

inline constexpr std::size_t kLongestPiece = std::size_t{1} << 20;  // bytes

// Appends the pieces of `text` (valid UTF-8) to `pieces`; joined they are the text. The pattern is GPT-2's, run by
// PCRE2; a piece of more than kLongestPiece bytes, which only text without words has, is cut there, so that the memory
// of encoding it is bounded. Safe to call from several threads.
void pre_tokenize(std::string_view text, std::vector<std::string_view>& pieces);

}  // namespace sink
