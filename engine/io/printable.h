// Text from outside (names, paths, contents of files) on its way to a terminal or into a message of one line.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace sink {

// Visible UTF-8 stays; control characters, what reorders text (bidirectional marks), line and paragraph separators, and
// bytes that are not UTF-8 are escaped: \n, \x1b, \u202e. The result is one line without escape sequences.
std::string printable(std::string_view text);
// The same for text of several lines: line ends and tabs stay.
std::string printable_lines(std::string_view text);

// Writes text that others made: to a terminal as printable_lines() has it, to anything else byte by byte. A character
// has to come whole.
void put_text(std::FILE* to, std::string_view text);

}  // namespace sink
