// Cutting text into pieces, by a regular expression of PCRE2.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/data/tokenizer/pre_tokenize.h"

#include <pcre2.h>

#include <memory>
#include <string>

#include "engine/check.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

// \s of the pattern is written out: it is Unicode's White_Space, and PCRE2's own \s differs from it by one character.
#define SINK_SPACE R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})"
constexpr char kPattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d"
    R"(| ?\p{L}+| ?\p{N}+)"
    "| ?[^" SINK_SPACE R"(\p{L}\p{N}]+)"
    "|[" SINK_SPACE "]+(?![^" SINK_SPACE
    "])"
    "|[" SINK_SPACE "]+";
#undef SINK_SPACE

std::string pcre2_message(int code) {
  PCRE2_UCHAR message[256];
  pcre2_get_error_message(code, message, sizeof message);
  return reinterpret_cast<const char*>(message);
}

const pcre2_code* compiled_pattern() {
  static const pcre2_code* code = [] {
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* made = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error,
                                     &offset, nullptr);
    SINK_CHECK(made != nullptr, "pre_tokenize", "PCRE2 rejects the pattern: " + pcre2_message(error));
    pcre2_jit_compile(made,
                      PCRE2_JIT_COMPLETE);  // where the system forbids it, matching is interpreted: slower, the same
    return made;
  }();
  return code;
}

}  // namespace

void pre_tokenize(std::string_view text, std::vector<std::string_view>& pieces) {
  const pcre2_code* code = compiled_pattern();
  thread_local std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match.get());
  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (PCRE2_SIZE at = 0; at < text.size(); at = range[1]) {
    // Every character begins one of the alternatives, so matches follow each other without gaps.
    int found = pcre2_match(code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
    SINK_CHECK(found > 0, "pre_tokenize", "at byte " + std::to_string(at) + ": " + pcre2_message(found));
    std::string_view piece = text.substr(range[0], range[1] - range[0]);
    for (std::string_view part = utf8_prefix(piece, kLongestPiece); !part.empty();
         part = utf8_prefix(piece, kLongestPiece)) {
      pieces.push_back(part);
      piece.remove_prefix(part.size());
    }
  }
}

}  // namespace sink
