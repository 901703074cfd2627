// Cuts text into the pieces that byte pairs may not cross: words with their leading space, numbers, signs, white space.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace sink {

inline constexpr std::size_t kLongestPiece = std::size_t{1} << 20;  // bytes

// How to cut. The first two are the regular expressions below, read from left to right by a scanner that equals them
// (the tests compare it with PCRE2 on every character); the digits are any of Unicode's categories N.
enum class Cut {
  words,         // kWordsPattern, of GPT-2, GPT-NeoX, OPT
  llama3_words,  // kLlama3Pattern: whatever the case, numbers of three digits, signs with their line ends
  each_digit,    // every digit by itself, what is between as it is
  digit_runs     // digits that stand together, what is between as it is
};

inline constexpr char kWordsPattern[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr char kLlama3Pattern[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Appends the pieces of `text` (valid UTF-8) to `pieces`; joined they are the text. Each of `cuts` cuts what the one
// before it left. A piece of more than kLongestPiece bytes, which only text without words has, is cut there, so that
// the memory of encoding it is bounded. Safe to call from several threads.
void pre_tokenize(std::string_view text, std::span<const Cut> cuts, std::vector<std::string_view>& pieces);
void pre_tokenize(std::string_view text, std::vector<std::string_view>& pieces);  // by Cut::words

}  // namespace sink
