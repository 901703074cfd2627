// Tables of text for terminals, with aligned columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/io/str_format.h"

namespace sink {

using Cells = std::vector<std::string>;

// A number with so many decimals; from 10^9 on as 2.02e+21, since a double has no such digits.
inline std::string fixed_text(double value, int decimals, bool with_sign = false) {
  constexpr double kLargest = 1e9;
  const bool fits = std::abs(value) < kLargest;
  return fits ? str_format(with_sign ? "%+.*f" : "%.*f", decimals, value)
              : str_format(with_sign ? "%+.2e" : "%.2e", value);
}

// Columns on a terminal: bytes other than UTF-8 continuation bytes.
inline std::size_t text_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// The beginning of a text, of at most so many columns; and filled with blanks to so many.
inline std::string cut_to(const std::string& text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t width = 0; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80 && width++ == columns) break;
  return text.substr(0, end);
}
inline std::string padded(const std::string& text, std::size_t columns) {
  const std::string cut = cut_to(text, columns);
  return cut + std::string(columns - text_width(cut), ' ');
}

// One line per row, columns two spaces apart, without trailing spaces; is_right(c): column c ends at its right edge.
template <class IsRight>
std::string aligned(const std::vector<Cells>& rows, IsRight is_right) {
  std::vector<std::size_t> widths(rows.front().size(), 1);
  for (const Cells& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], text_width(row[c]));
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - text_width(row[c]), ' ');
      line += (c ? "  " : "") + (is_right(c) ? space + row[c] : row[c] + space);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}
inline std::string aligned(const std::vector<Cells>& rows) {
  return aligned(rows, [](std::size_t) { return false; });
}

}  // namespace sink
