#include "engine/io/settings_toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>

#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 20;
constexpr std::size_t kShownOfLine = 40;  // bytes of a line in a message
constexpr std::size_t kWords = 160;       // bytes of toml++'s own words in a message
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlanks = " \t";

std::string shown(std::string_view text, std::size_t most) {
  return std::string(utf8_prefix(printable(text.substr(0, most)), most));
}

std::string_view trimmed(std::string_view text) {
  std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

bool is_bare_key(std::string_view key) {
  auto belongs = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !key.empty() && std::all_of(key.begin(), key.end(), belongs);
}

// Why a line is none of ours, else "". After it toml++ sees nothing but a name, an equals sign and a single value.
std::string objection(std::string_view line) {
  std::size_t equals = line.find('=');
  std::string_view key = trimmed(line.substr(0, equals));
  if (line.front() == '[')
    return "is `" + shown(line, kShownOfLine) + "`: sections are not used, settings stand as key = value";
  if (key.find('.') != std::string_view::npos)
    return "sets `" + shown(key, kShownOfLine) + "`: no setting has a dot in its name";
  if (equals == std::string_view::npos || !is_bare_key(key))
    return "is `" + shown(line, kShownOfLine) + "`, expected key = value";
  std::string_view value = trimmed(line.substr(equals + 1));
  if (value.starts_with('[') || value.starts_with('{'))
    return "sets " + shown(key, kShownOfLine) + " to `" + shown(value, kShownOfLine) +
           "`: a setting has one value, no list or table";
  return "";
}

// Whole numbers from 2^63 to 2^64 - 1, which seeds may be. TOML's end before; older programs wrote them all the same.
std::optional<std::string> large_whole_number(std::string_view value) {
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  bool whole = error == std::errc() && end == value.data() + value.size();
  if (!whole || number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return std::to_string(number);
}

// The value of a line that has no objection; throws toml::parse_error.
std::string value_of(std::string_view line) {
  if (auto number = large_whole_number(trimmed(line.substr(line.find('=') + 1)))) return *number;
  toml::table table = toml::parse(line);
  const toml::node& node = table.begin()->second;
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return toml_number(number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  throw Error("no setting is a date or a time", Exit::failure);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_settings_toml(std::string_view text, const std::string& where,
                                                                    Exit code) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.size() > kLongestText)
    throw Error(where + " has " + std::to_string(text.size()) + " bytes, settings have at most 1048576", code);
  std::vector<std::pair<std::string, std::string>> settings;
  std::size_t number = 1;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1, ++number) {
    end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    std::string place = where + ": line " + std::to_string(number) + " ";
    if (std::string why = objection(line); !why.empty()) throw Error(place + why, code);
    std::string key(trimmed(line.substr(0, line.find('='))));
    try {
      settings.emplace_back(key, value_of(line));
    } catch (const std::exception& error) {
      throw Error(place + "sets " + shown(key, kShownOfLine) + ": " + shown(error.what(), kWords) +
                      "; a value is a number, true, false or a text in quotes, on the line of its name",
                  code);
    }
  }
  return settings;
}

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n' || c == '\t' || c == '\r') {
      quoted += {'\\', c == '\n' ? 'n' : c == '\t' ? 't' : 'r'};
    } else if (code < 0x20 || code == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04X", code);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string toml_number(double value) {
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

}  // namespace sink
