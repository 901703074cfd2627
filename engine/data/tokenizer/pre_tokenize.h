// Cuts text into pieces that merges do not cross: words with their leading space, runs of digits, signs, white space.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sink {

inline constexpr std::size_t kLongestPiece = std::size_t{1} << 20;  // bytes

// How to cut. The *_words are the regular expressions below, implemented by scanners (tests compare them with PCRE2 on
// every character). The others keep the text between their matches as pieces.
//
// PCRE2 is not used: 10.42 lacks the 9,272 letters since Unicode 15, and with those added to its classes its compiled
// patterns take 2.7 to 5.8 times as long as the scanners (2.9 MB of English, medians of 5).
enum class Cut {
  words,         // kWordsPattern, of GPT-2, GPT-NeoX, OPT
  llama3_words,  // kLlama3Pattern: any case, up to three digits, signs with their line ends
  qwen2_words,   // the same with single digits; of Qwen 2 and 3
  o200k_words,   // kO200kPattern, of GPT-4o and gpt-oss: a new word at a capital after a small letter
  tekken_words,  // the same without contractions and with single digits; of Mistral's Tekken
  each_digit,    // single digits, any of Unicode's categories N
  digit_runs,    // runs of digits
  metaspace,     // before every U+2581
  after_space,   // after every space
  sign_runs,     // [\p{P}\$\+<=>\^~\|]+, which with the two below and kWordsPattern is llama.cpp's "default"
  number_runs,   // \p{N}+
  ascii_threes   // [0-9][0-9][0-9]
};

inline constexpr char kWordsPattern[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr char kLlama3Pattern[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline constexpr char kQwen2Pattern[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr char kO200kPattern[] =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr char kTekkenPattern[] =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The cut of a regular expression above, and the inverse (nullptr where there is none).
std::optional<Cut> cut_of_pattern(std::string_view pattern);
const char* pattern_of_cut(Cut cut);

// Appends the pieces of `text` (valid UTF-8) to `pieces`; their concatenation is the text. Each of `cuts` cuts the
// pieces of the one before it. Pieces longer than `longest` bytes are cut, which bounds the memory of encoding.
// Thread-safe.
void pre_tokenize(std::string_view text, std::span<const Cut> cuts, std::vector<std::string_view>& pieces,
                  std::size_t longest = kLongestPiece);
void pre_tokenize(std::string_view text, std::vector<std::string_view>& pieces);  // by Cut::words

}  // namespace sink
