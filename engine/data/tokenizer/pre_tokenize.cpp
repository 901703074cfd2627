// Cutting text into pieces: scanners that do what the regular expressions of the known tokenizers do.
#include "engine/data/tokenizer/pre_tokenize.h"

#include "engine/data/tokenizer/character_class.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

constexpr std::uint8_t kKind = kLetter | kNumber | kSpace;
constexpr std::uint8_t kSign = 0;  // the kind of all other characters

struct Character {
  std::size_t end;  // where the next one begins
  std::uint32_t code;
  std::uint8_t kind;  // kLetter, kNumber, kSpace or kSign
};

// Valid UTF-8 with the classes of its characters.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), classes_(character_classes()) {}

  std::size_t size() const { return text_.size(); }
  bool is(std::size_t at, char c) const { return at < text_.size() && text_[at] == c; }

  Character at(std::size_t at) const {
    auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text_[at + i])); };
    std::uint32_t code = byte(0);
    std::size_t length = 1;
    if (code >= 0xF0) {
      code = (code & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
      length = 4;
    } else if (code >= 0xE0) {
      code = (code & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
      length = 3;
    } else if (code >= 0x80) {
      code = (code & 0x1F) << 6 | (byte(1) & 0x3F);
      length = 2;
    }
    return {at + length, code, static_cast<std::uint8_t>(classes_[code] & kKind)};
  }

  bool is_kind(std::size_t at, std::uint8_t kind) const { return at < size() && this->at(at).kind == kind; }
  bool is_numeric(const Character& c) const { return classes_[c.code] & kNumeric; }

  // The end of the characters of one kind that stand from `at` on.
  std::size_t skip(std::size_t at, std::uint8_t kind) const {
    while (at < size()) {
      Character c = this->at(at);
      if (c.kind != kind) break;
      at = c.end;
    }
    return at;
  }

  // White space from `at` on: all of it where the text ends with it, else all but the last one, of one alone that one.
  std::size_t space_end(std::size_t at) const {
    std::size_t last = at, end = at;
    while (end < size()) {
      Character c = this->at(end);
      if (c.kind != kSpace) return last > at ? last : end;
      last = end;
      end = c.end;
    }
    return end;
  }

  // The end of 's, 't, 're, 've, 'm, 'll or 'd at `at`, where a ' stands; `at` where it is none of them.
  std::size_t contraction_end(std::size_t at, bool any_case) const {
    auto letter = [&](std::size_t i) {
      char c = i < size() ? text_[i] : '\0';
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    char first = letter(at + 1), second = letter(at + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
    if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l'))
      return at + 3;
    constexpr std::uint32_t kLongS = 0x17F;  // an s in another case
    if (any_case && at + 1 < size() && this->at(at + 1).code == kLongS) return at + 3;
    return at;
  }

 private:
  std::string_view text_;
  const std::uint8_t* classes_;
};

std::size_t words_end(const Scanner& text, std::size_t at) {
  Character first = text.at(at);
  if (first.code == '\'') {
    std::size_t end = text.contraction_end(at, false);
    if (end > at) return end;
  }
  if (first.kind != kSpace) return text.skip(first.end, first.kind);
  if (first.code == ' ' && first.end < text.size()) {
    Character next = text.at(first.end);
    if (next.kind != kSpace) return text.skip(next.end, next.kind);
  }
  return text.space_end(at);
}

bool is_line_end(const Character& c) { return c.code == '\r' || c.code == '\n'; }

// The end of the last line end in the white space from `at` on; `at` where it has none.
std::size_t last_line_end(const Scanner& text, std::size_t at) {
  std::size_t end = at;
  while (at < text.size()) {
    Character c = text.at(at);
    if (c.kind != kSpace) break;
    at = c.end;
    if (is_line_end(c)) end = at;
  }
  return end;
}

std::size_t llama3_end(const Scanner& text, std::size_t at) {
  Character first = text.at(at);
  if (first.code == '\'') {
    std::size_t end = text.contraction_end(at, true);
    if (end > at) return end;
  }
  if (first.kind == kLetter) return text.skip(first.end, kLetter);
  if (first.kind == kNumber) {
    std::size_t end = first.end;
    for (int more = 0; more < 2 && text.is_kind(end, kNumber); ++more) end = text.at(end).end;
    return end;
  }
  if (!is_line_end(first) && text.is_kind(first.end, kLetter)) return text.skip(first.end, kLetter);
  if (first.kind == kSign || (first.code == ' ' && text.is_kind(first.end, kSign))) {
    std::size_t end = text.skip(first.end, kSign);
    while (text.is(end, '\r') || text.is(end, '\n')) ++end;
    return end;
  }
  std::size_t lines = last_line_end(text, at);
  return lines > at ? lines : text.space_end(at);
}

std::size_t digits_end(const Scanner& text, std::size_t at, bool each) {
  Character first = text.at(at);
  bool numeric = text.is_numeric(first);
  if (numeric && each) return first.end;
  std::size_t end = first.end;
  while (end < text.size()) {
    Character c = text.at(end);
    if (text.is_numeric(c) != numeric) break;
    end = c.end;
  }
  return end;
}

void append_bounded(std::string_view piece, std::vector<std::string_view>& pieces) {
  while (piece.size() > kLongestPiece) {
    pieces.push_back(utf8_prefix(piece, kLongestPiece));
    piece.remove_prefix(pieces.back().size());
  }
  if (!piece.empty()) pieces.push_back(piece);
}

template <class EndOf>
void cut(std::string_view text, std::span<const Cut> more, std::vector<std::string_view>& pieces, EndOf end_of) {
  Scanner scanner(text);
  for (std::size_t at = 0, end; at < text.size(); at = end) {
    end = end_of(scanner, at);
    std::string_view piece = text.substr(at, end - at);
    more.empty() ? append_bounded(piece, pieces) : pre_tokenize(piece, more, pieces);
  }
}

}  // namespace

void pre_tokenize(std::string_view text, std::span<const Cut> cuts, std::vector<std::string_view>& pieces) {
  if (cuts.empty()) return append_bounded(text, pieces);
  std::span<const Cut> more = cuts.subspan(1);
  switch (cuts[0]) {
    case Cut::words:
      return cut(text, more, pieces, words_end);
    case Cut::llama3_words:
      return cut(text, more, pieces, llama3_end);
    case Cut::each_digit:
      return cut(text, more, pieces, [](const Scanner& s, std::size_t at) { return digits_end(s, at, true); });
    case Cut::digit_runs:
      return cut(text, more, pieces, [](const Scanner& s, std::size_t at) { return digits_end(s, at, false); });
  }
}

void pre_tokenize(std::string_view text, std::vector<std::string_view>& pieces) {
  static constexpr Cut kWords[] = {Cut::words};
  pre_tokenize(text, kWords, pieces);
}

}  // namespace sink
