// The TOML that settings are written in: one `key = value` per line. toml++ reads each line; sections, dotted keys,
// lists and tables, whose nesting costs a parser stack and time, are refused before it sees them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/check.h"

namespace sink {

// Keys and values in their order, the values as plain text: strings without quotes and escapes, numbers in the fewest
// digits that read back to the same bits. A byte order mark in front is skipped. Throws Error (`code`) of one line,
// "<where>: line 3 ...", for what is not such TOML, and for more than 1 MiB.
std::vector<std::pair<std::string, std::string>> read_settings_toml(std::string_view text, const std::string& where,
                                                                    Exit code);

// `text` (UTF-8) as a TOML string, in double quotes; read_settings_toml gives back the same bytes, whatever they are.
std::string toml_string(std::string_view text);

// The fewest digits that read back to the same bits, with a point or an exponent, so that TOML keeps it a float.
std::string toml_number(double value);

}  // namespace sink
