// Fields of CSV files (RFC 4180), for every tool that writes one.
#pragma once

#include <cmath>
#include <string>

#include "engine/io/str_format.h"

namespace sink {

// Quoted where it must be. A text that a spreadsheet would take for a formula (it begins with = + - @, a tab or a
// carriage return) gets an apostrophe in front.
inline std::string csv_field(const std::string& text) {
  const bool formula = !text.empty() && std::string("=+-@\t\r").find(text[0]) != std::string::npos;
  std::string safe(formula ? 1 : 0, '\'');
  safe += text;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string out = "\"";
  for (const char c : safe) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// %.9g; what is not finite is an empty field.
inline std::string csv_field(double value) {
  if (!std::isfinite(value)) return "";
  return str_format("%.9g", value);
}

}  // namespace sink
