// The TOML that settings are written in: one `key = value` per line. toml++ reads each value; dotted keys, nested lists
// and tables, whose nesting costs a parser stack and time, are refused before it sees them. Settings of one thing have
// neither sections nor lists; a file of several (a study's) has `[section]`, `[[section]]` and flat lists.
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

struct TomlEntry {
  std::string key;
  std::vector<std::string> values;  // one where it is no list; as read_settings_toml gives them
  bool is_list = false;
  std::size_t line = 0;  // from 1
};

struct TomlSection {
  std::string name;       // empty: what stands before the first
  bool repeated = false;  // [[name]]: one of several
  std::size_t line = 0;
  std::vector<TomlEntry> entries;
};

// A file of sections, in their order, the nameless one first. A list may go over several lines; what it holds are
// values, no lists. Throws Error (`code`) as read_settings_toml does, and for a key or a [name] that is given twice.
std::vector<TomlSection> read_sections_toml(std::string_view text, const std::string& where, Exit code);

// `text` (UTF-8) as a TOML string, in double quotes; read_settings_toml gives back the same bytes, whatever they are.
std::string toml_string(std::string_view text);

// The fewest digits that read back to the same bits, with a point or an exponent, so that TOML keeps it a float.
std::string toml_number(double value);

}  // namespace sink
