// The scanners that cut text, compared with the regular expressions they stand for, run by PCRE2.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/data/tokenizer/pre_tokenize.h"

#include <doctest/doctest.h>
#include <pcre2.h>

#include <stdexcept>
#include <string>

#include "engine/data/tokenizer/character_class.h"
#include "engine/io/utf8.h"
#include "engine/rng.h"
#include "tests/support/in_turn.h"

using namespace sink;

namespace {

// A pattern of a tokenizer.json for PCRE2, whose \s and \S differ from Unicode's White_Space by one character.
std::string for_pcre2(std::string pattern) {
  const std::string space = R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
  auto replace = [&](const std::string& what, const std::string& by) {
    for (std::size_t at = pattern.find(what); at != std::string::npos; at = pattern.find(what, at + by.size()))
      pattern.replace(at, what.size(), by);
  };
  replace(R"([^\s)", "[^" + space);
  replace(R"((?!\S))", "(?![^" + space + "])");
  replace(R"(\s)", "[" + space + "]");
  return pattern;
}

class Pattern {
 public:
  explicit Pattern(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.c_str()), PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error,
                          &offset, nullptr);
    REQUIRE(code_ != nullptr);
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);
    match_ = pcre2_match_data_create(1, nullptr);
  }
  Pattern(const Pattern&) = delete;
  ~Pattern() {
    pcre2_match_data_free(match_);
    pcre2_code_free(code_);
  }

  // All matches in order; each begins where the one before ends.
  std::vector<std::string_view> pieces(std::string_view text) const {
    std::vector<std::string_view> pieces;
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match_);
    for (PCRE2_SIZE at = 0; at < text.size(); at = range[1]) {
      int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, PCRE2_NO_UTF_CHECK,
                              match_, nullptr);
      if (found <= 0 || range[0] != at) throw std::runtime_error("no match at byte " + std::to_string(at));
      pieces.push_back(text.substr(range[0], range[1] - range[0]));
    }
    return pieces;
  }

 private:
  pcre2_code* code_;
  pcre2_match_data* match_;
};

std::vector<std::string_view> cut(std::string_view text, Cut by) {
  std::vector<std::string_view> pieces;
  pre_tokenize(text, {&by, 1}, pieces);
  return pieces;
}

// Whether PCRE2 has each character in the class `name`.
std::vector<bool> in_class(const std::string& name) {
  std::string all;
  for (std::uint32_t code = 1; code < 0x110000; ++code)
    if (code < 0xD800 || code >= 0xE000) append_utf8(all, code);
  std::vector<bool> in(0x110000);
  bool inside = false;  // U+0001 is in neither of the classes asked for
  for (std::string_view piece : Pattern("\\p{" + name + "}+|\\P{" + name + "}+").pieces(all)) {
    std::uint32_t code = 0;
    for (std::size_t at = 0; at < piece.size(); in[code] = inside)
      at += static_cast<std::size_t>(utf8_length(piece, at, &code));
    inside = !inside;
  }
  return in;
}

// Characters that both put into the same class: all but those that came with Unicode 15 and 16.
std::vector<std::uint32_t> known_characters() {
  std::vector<bool> letter = in_class("L"), number = in_class("N"), upper = in_class("Lu"), title = in_class("Lt"),
                    lower = in_class("Ll"), mark = in_class("M"), punctuation = in_class("P");
  std::vector<std::uint32_t> known;
  for (std::uint32_t code = 1; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::uint8_t kind = character_classes()[code];
    bool same = letter[code] == bool(kind & kLetter) && number[code] == bool(kind & kNumber);
    same = same && bool(kind & kUpper) == (letter[code] ? upper[code] || title[code] : mark[code]);
    if (same && bool(kind & kLower) == (letter[code] ? lower[code] : punctuation[code])) known.push_back(code);
  }
  return known;
}

}  // namespace

TEST_CASE("pre_tokenize: the scanners cut where the regular expressions do") {
  const std::vector<std::uint32_t> known = known_characters();
  CHECK(known.size() > 1'085'000);
  CHECK(known.size() < 1'112'064);
  const std::vector<std::string> frequent = {
      " ",      " ",      "  ",     "\n",     "\r",     "\t",     "'",          "'s",     "'LL",    "'re",
      "'V",     "s",      "e",      "a",      "Z",      "7",      "12",         ".",      "-",      "\u017f",
      "\u00a0", "\u3000", "\u00b2", "\u0301", "\u4e2d", "\u0663", "\U0001f600", "\u0085", "\u180e", "\u212a",
      "\u01c5", "\u02b0", "/",      "$",      "123",    "\u2581", "B"};
  Rng rng(8, "characters");
  std::uint64_t drawn = 0;
  auto below = [&](std::uint64_t n) { return rng.below(drawn++, n); };
  struct {
    Cut cut;
    Pattern pattern;
  } scanners[] = {{Cut::words, Pattern(for_pcre2(kWordsPattern))},
                  {Cut::llama3_words, Pattern(for_pcre2(kLlama3Pattern))},
                  {Cut::qwen2_words, Pattern(for_pcre2(kQwen2Pattern))},
                  {Cut::o200k_words, Pattern(for_pcre2(kO200kPattern))},
                  {Cut::tekken_words, Pattern(for_pcre2(kTekkenPattern))},
                  {Cut::sign_runs, Pattern(R"([\p{P}\$\+<=>\^~\|]+|[^\p{P}\$\+<=>\^~\|]+)")},
                  {Cut::number_runs, Pattern(R"(\p{N}+|\P{N}+)")},
                  {Cut::ascii_threes, Pattern("[0-9]{3}|(?s:(?![0-9]{3}).)+")},
                  {Cut::metaspace, Pattern("\u2581?[^\u2581]+|\u2581")},
                  {Cut::after_space, Pattern("[^ ]* |[^ ]+")}};
  for (int round = 0; round < (test::is_short() ? 1'000 : 40'000); ++round) {
    std::string text;
    for (std::uint64_t length = 1 + below(14); length > 0; --length) {
      if (below(6) > 0) {
        text += frequent[below(frequent.size())];
      } else {
        append_utf8(text, known[below(known.size())]);
      }
    }
    for (const auto& [by, pattern] : scanners) {
      if (cut(text, by) == pattern.pieces(text)) continue;
      CAPTURE(text);
      CHECK(cut(text, by) == pattern.pieces(text));
    }
  }
  // Every character before and after a letter, a digit, a sign, a blank and itself.
  for (std::size_t i = 0; i < known.size(); i += 97) {
    if (!test::in_turn()) continue;
    std::string text;
    for (std::size_t j = i; j < std::min(i + 97, known.size()); ++j) {
      for (const char* other : {"a", "7", "-", " ", "\n", "'"}) {
        append_utf8(text, known[j]);
        text += other;
      }
      append_utf8(text, known[j]);
      append_utf8(text, known[j]);
    }
    for (const auto& [by, pattern] : scanners) CHECK(cut(text, by) == pattern.pieces(text));
  }
}

TEST_CASE("pre_tokenize: digits") {
  using Pieces = std::vector<std::string_view>;
  CHECK(cut("a12 b\u00b23.", Cut::each_digit) == Pieces{"a", "1", "2", " b", "\u00b2", "3", "."});
  CHECK(cut("a12 b\u00b23.", Cut::digit_runs) == Pieces{"a", "12", " b", "\u00b23", "."});
  Pieces pieces;
  Cut both[] = {Cut::each_digit, Cut::words};
  pre_tokenize("x 12", both, pieces);
  CHECK(pieces == Pieces{"x", " ", "1", "2"});
  pieces.clear();
  pre_tokenize("x 12", {}, pieces);
  CHECK(pieces == Pieces{"x 12"});
}
