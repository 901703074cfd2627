// The TOML of settings: one `key = value` per line. toml++ parses each value; dotted keys, nested lists and tables are
// refused before, as deep nesting costs a parser stack and time. Settings of one run have neither sections nor lists;
// study files have `[section]`, `[[section]]` and flat lists.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/check.h"

namespace sink {

// A reader of a file needs no more bytes than one more, to be refused.
inline constexpr std::size_t kMaxSettingsBytes = std::size_t{1} << 20;

// Keys and values in order. The values are plain text: strings without quotes and escapes; a number in the fewest
// digits that read back to the same bits. A leading byte order mark is skipped. Throws Error (`code`) with one line,
// "<where>: line 3 ...", for other TOML, a number that is too small for a double, and more than 1 MiB.
std::vector<std::pair<std::string, std::string>> read_settings_toml(std::string_view text, const std::string& where,
                                                                    Exit code);

struct TomlEntry {
  std::string key;
  std::vector<std::string> values;  // one value unless is_list; as in read_settings_toml
  std::vector<bool> in_quotes;      // of each value: whether it is a text, not a number or a truth
  bool is_list = false;
  std::size_t line = 0;  // from 1
};

struct TomlSection {
  std::string name;       // empty: before the first section
  bool repeated = false;  // [[name]]
  std::size_t line = 0;
  std::vector<TomlEntry> entries;
};

// The sections of a file in order, the unnamed one first. A list may span several lines and is not nested. Throws Error
// (`code`) as read_settings_toml, and for a duplicate key or [name].
std::vector<TomlSection> read_sections_toml(std::string_view text, const std::string& where, Exit code);

// `text` (UTF-8) as a TOML string in double quotes; read_settings_toml restores the same bytes.
std::string toml_string(std::string_view text);

// The fewest digits that read back to the same bits, with a point or an exponent, so that TOML reads a float.
std::string toml_number(double value);

}  // namespace sink
