// Cutting text into pieces: scanners that do what the regular expressions of the known tokenizers do.
#include "engine/data/tokenizer/pre_tokenize.h"

#include "engine/data/tokenizer/character_class.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

constexpr std::uint8_t kKind = kLetter | kNumber | kSpace;
constexpr std::uint8_t kCase = kLetter | kUpper | kLower;
constexpr std::uint8_t kSign = 0;  // the kind of all other characters

constexpr struct NamedPattern {
  Cut cut;
  const char* pattern;
} kPatterns[] = {{Cut::words, kWordsPattern},         {Cut::llama3_words, kLlama3Pattern},
                 {Cut::qwen2_words, kQwen2Pattern},   {Cut::o200k_words, kO200kPattern},
                 {Cut::tekken_words, kTekkenPattern}, {Cut::sign_runs, R"([\p{P}\$\+<=>\^~\|]+)"},
                 {Cut::number_runs, R"(\p{N}+)"},     {Cut::ascii_threes, "[0-9][0-9][0-9]"}};

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
  bool is_punctuation(const Character& c) const {
    return (classes_[c.code] & (kLetter | kPunctuation)) == kPunctuation;
  }
  // Of what may begin a word with capital letters: all letters but small ones, and marks; what may follow: but
  // capitals.
  bool is_upper(const Character& c) const { return is_cased(c, kLower); }
  bool is_lower(const Character& c) const { return is_cased(c, kUpper); }

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

  // The end of 's, 't, 're, 've, 'm, 'll or 'd at `at`, where the ' is. Returns `at` if there is none of them.
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
  bool is_cased(const Character& c, std::uint8_t other) const {
    std::uint8_t kind = classes_[c.code] & kCase;
    return kind & kLetter ? !(kind & other) : (kind & kMark) != 0;
  }

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

// The alternatives that the later patterns share: up to `digits` digits, signs with their line ends, white space.
std::size_t other_end(const Scanner& text, const Character& first, std::size_t at, int digits, bool slashes) {
  if (first.kind == kNumber) {
    std::size_t end = first.end;
    for (int more = 1; more < digits && text.is_kind(end, kNumber); ++more) end = text.at(end).end;
    return end;
  }
  if (first.kind == kSign || (first.code == ' ' && text.is_kind(first.end, kSign))) {
    std::size_t end = text.skip(first.end, kSign);
    while (text.is(end, '\r') || text.is(end, '\n') || (slashes && text.is(end, '/'))) ++end;
    return end;
  }
  std::size_t lines = last_line_end(text, at);
  return lines > at ? lines : text.space_end(at);
}

template <int kDigits>
std::size_t llama3_end(const Scanner& text, std::size_t at) {
  Character first = text.at(at);
  if (first.code == '\'') {
    std::size_t end = text.contraction_end(at, true);
    if (end > at) return end;
  }
  if (first.kind == kLetter) return text.skip(first.end, kLetter);
  if (first.kind != kNumber && !is_line_end(first) && text.is_kind(first.end, kLetter))
    return text.skip(first.end, kLetter);
  return other_end(text, first, at, kDigits, false);
}

// The end of [upper]*[lower]+ at `at`, else of [upper]+; `at` where it is neither. A character may be of both, so the
// last such one of the first run may be the second run.
std::size_t cased_end(const Scanner& text, std::size_t at, bool& has_lower) {
  std::size_t end = at, both = at;  // after the last character that is both
  while (end < text.size()) {
    Character c = text.at(end);
    if (!text.is_upper(c)) break;
    end = c.end;
    if (text.is_lower(c)) both = end;
  }
  std::size_t upper = end;
  while (end < text.size()) {
    Character c = text.at(end);
    if (!text.is_lower(c)) break;
    end = c.end;
  }
  has_lower = end > upper || both > at;
  return end > upper || both == at ? end : both;
}

template <int kDigits, bool kContractions>
std::size_t o200k_end(const Scanner& text, std::size_t at) {
  Character first = text.at(at);
  auto with_contraction = [&](std::size_t end) {
    return kContractions && text.is(end, '\'') ? text.contraction_end(end, true) : end;
  };
  // A sign or blank belongs to the word after it. A mark may do so too, or begin the word itself.
  bool leads = first.kind != kLetter && first.kind != kNumber && !is_line_end(first);
  bool has_lower = false, own_lower = false;
  std::size_t begin = leads ? first.end : at;
  std::size_t end = cased_end(text, begin, has_lower);
  if (has_lower) return with_contraction(end);
  std::size_t own = leads ? cased_end(text, at, own_lower) : at;
  if (own_lower) return with_contraction(own);
  if (end > begin) return with_contraction(end);
  return other_end(text, first, at, kDigits, true);
}

// The end of the run of characters that are `in`, or are not, as the first one.
template <class In>
std::size_t run_end(const Scanner& text, std::size_t at, In in) {
  Character c = text.at(at);
  bool first = in(c);
  while (c.end < text.size()) {
    std::size_t next = c.end;
    c = text.at(next);
    if (in(c) != first) return next;
  }
  return c.end;
}

std::size_t sign_run_end(const Scanner& text, std::size_t at) {
  return run_end(text, at, [&](const Character& c) {
    return text.is_punctuation(c) ||
           (c.code < 0x80 && std::string_view("$+<=>^~|").find(static_cast<char>(c.code)) != std::string_view::npos);
  });
}

bool is_ascii_digit(const Scanner& text, std::size_t at) {
  if (at >= text.size()) return false;
  std::uint32_t code = text.at(at).code;
  return code >= '0' && code <= '9';
}

// The end of three digits, or of the text before the next three.
std::size_t ascii_threes_end(const Scanner& text, std::size_t at) {
  auto three = [&](std::size_t i) {
    return is_ascii_digit(text, i) && is_ascii_digit(text, i + 1) && is_ascii_digit(text, i + 2);
  };
  if (three(at)) return at + 3;
  std::size_t end = text.at(at).end;
  while (end < text.size() && !three(end)) end = text.at(end).end;
  return end;
}

// Before the next U+2581.
std::size_t metaspace_end(const Scanner& text, std::size_t at) {
  constexpr std::uint32_t kMetaspaceCode = 0x2581;
  for (Character c = text.at(at);; c = text.at(c.end))
    if (c.end == text.size() || text.at(c.end).code == kMetaspaceCode) return c.end;
}

std::size_t after_space_end(const Scanner& text, std::size_t at) {
  while (at < text.size() && !text.is(at, ' ')) at = text.at(at).end;
  return at + (at < text.size());
}

std::size_t digits_end(const Scanner& text, std::size_t at, bool each) {
  Character first = text.at(at);
  if (each && text.is_numeric(first)) return first.end;
  return run_end(text, at, [&](const Character& c) { return text.is_numeric(c); });
}

void append_bounded(std::string_view piece, std::vector<std::string_view>& pieces, std::size_t longest) {
  while (piece.size() > longest) {
    pieces.push_back(utf8_prefix(piece, longest));
    piece.remove_prefix(pieces.back().size());
  }
  if (!piece.empty()) pieces.push_back(piece);
}

template <class EndOf>
void cut(std::string_view text, std::span<const Cut> more, std::vector<std::string_view>& pieces, std::size_t longest,
         EndOf end_of) {
  Scanner scanner(text);
  for (std::size_t at = 0, end; at < text.size(); at = end) {
    end = end_of(scanner, at);
    std::string_view piece = text.substr(at, end - at);
    more.empty() ? append_bounded(piece, pieces, longest) : pre_tokenize(piece, more, pieces, longest);
  }
}

}  // namespace

std::optional<Cut> cut_of_pattern(std::string_view pattern) {
  for (const NamedPattern& known : kPatterns)
    if (pattern == known.pattern) return known.cut;
  return std::nullopt;
}

const char* pattern_of_cut(Cut cut) {
  for (const NamedPattern& known : kPatterns)
    if (cut == known.cut) return known.pattern;
  return nullptr;
}

void pre_tokenize(std::string_view text, std::span<const Cut> cuts, std::vector<std::string_view>& pieces,
                  std::size_t longest) {
  if (cuts.empty()) return append_bounded(text, pieces, longest);
  std::span<const Cut> more = cuts.subspan(1);
  auto by = [&](auto end_of) { cut(text, more, pieces, longest, end_of); };
  switch (cuts[0]) {
    case Cut::words:
      return by(words_end);
    case Cut::llama3_words:
      return by(llama3_end<3>);
    case Cut::qwen2_words:
      return by(llama3_end<1>);
    case Cut::o200k_words:
      return by(o200k_end<3, true>);
    case Cut::tekken_words:
      return by(o200k_end<1, false>);
    case Cut::each_digit:
      return by([](const Scanner& s, std::size_t at) { return digits_end(s, at, true); });
    case Cut::digit_runs:
      return by([](const Scanner& s, std::size_t at) { return digits_end(s, at, false); });
    case Cut::metaspace:
      return by(metaspace_end);
    case Cut::after_space:
      return by(after_space_end);
    case Cut::sign_runs:
      return by(sign_run_end);
    case Cut::number_runs:
      return by([](const Scanner& s, std::size_t at) {
        return run_end(s, at, [](const Character& c) { return c.kind == kNumber; });
      });
    case Cut::ascii_threes:
      return by(ascii_threes_end);
  }
}

void pre_tokenize(std::string_view text, std::vector<std::string_view>& pieces) {
  static constexpr Cut kWords[] = {Cut::words};
  pre_tokenize(text, kWords, pieces);
}

}  // namespace sink
