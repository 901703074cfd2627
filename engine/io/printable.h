// Untrusted text (names, paths, contents of files) for a terminal or a message of one line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace sink {

// Keeps visible UTF-8; escapes control characters, bidirectional marks, line and paragraph separators, and invalid
// UTF-8: \n, \x1b, \u202e. The result is one line without escape sequences.
std::string printable(std::string_view text);
// The same, but keeps newlines and tabs.
std::string printable_lines(std::string_view text);

// For a message: printable, in backquotes, and cut after 100 bytes, since a file can hold a name of any length.
std::string in_quotes(std::string_view name);

// Returns "1 run" or "2 runs" for the noun "run".
std::string counted(std::int64_t count, const std::string& noun);

// "a, b" of texts, or of what text_of(value) makes of each value.
template <class Values, class TextOf = std::identity>
std::string joined(const Values& values, const std::string& separator, TextOf text_of = {}) {
  std::string text;
  const char* before = "";
  for (const auto& value : values) text.append(std::exchange(before, separator.c_str())).append(text_of(value));
  return text;
}

// Writes untrusted text: through printable_lines() to a terminal, else unchanged. Must not be called with a part of a
// character.
void put_text(std::FILE* to, std::string_view text);

}  // namespace sink
