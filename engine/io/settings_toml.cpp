#include "engine/io/settings_toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

constexpr std::size_t kShownOfLine = 40;  // bytes of a line in a message
constexpr std::size_t kWords = 160;       // bytes of toml++'s message in ours
constexpr std::string_view kBlanks = " \t";

std::string shown(std::string_view text, std::size_t most) {
  return std::string(utf8_prefix(printable(utf8_prefix(text, most)), most));
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

// Why a line is refused, else "". An accepted line is a name, an equals sign and a single value.
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

// Finds the places of nodes in their text, in the order of the text. Columns count characters.
class SourceText {
 public:
  explicit SourceText(std::string_view text) : text_(text) {}
  // The text from `place` to the end of a number.
  std::string_view number_at(const toml::source_position& place) {
    while (begin_ < text_.size() && std::pair(line_, column_) < std::pair(place.line, place.column)) {
      column_ = text_[begin_] == '\n' ? 1 : column_ + 1;
      line_ += text_[begin_] == '\n';
      do ++begin_;
      while (begin_ < text_.size() && (static_cast<unsigned char>(text_[begin_]) & 0xc0) == 0x80);
    }
    return text_.substr(begin_, text_.find_first_of(",]# \t\r\n", begin_) - begin_);
  }

 private:
  std::string_view text_;
  std::size_t begin_ = 0;
  toml::source_index line_ = 1, column_ = 1;  // of begin_
};

// The value of `node`. toml++ reads a number below the least double as 0.
std::string text_of(const toml::node& node, SourceText& source) {
  if (const auto* number = node.as_floating_point(); number && number->get() == 0) {
    const std::string_view digits = source.number_at(node.source().begin);
    if (digits.substr(0, digits.find_first_of("eE")).find_first_of("123456789") != std::string_view::npos)
      throw Error(shown(digits, kShownOfLine) + " is too small, the least number above 0 is 5e-324", Exit::failure);
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return toml_number(number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  throw Error("no setting is a date or a time", Exit::failure);
}

// Reads the value of a line that has no objection; throws toml::parse_error.
void read_value(std::string_view line, TomlEntry& entry) {
  // Integers from 2^63 to 2^64 - 1, which seeds may be. TOML does not allow them, but older programs wrote them.
  const auto number = parse_number<std::uint64_t>(trimmed(line.substr(line.find('=') + 1)));
  if (number && *number > std::uint64_t{INT64_MAX}) {
    entry.values = {std::to_string(*number)};
    entry.in_quotes = {false};
    return;
  }
  toml::table table = toml::parse(line);
  SourceText source(line);
  entry.values = {text_of(table.begin()->second, source)};
  entry.in_quotes = {table.begin()->second.is_string()};
}

// The lines of a text without surrounding blanks.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  // False at the end.
  bool next(std::string_view& line) {
    if (begin_ >= text_.size()) return false;
    std::size_t end = std::min(text_.find('\n', begin_), text_.size());
    line = text_.substr(begin_, end - begin_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(line);
    begin_ = end + 1;
    ++number_;
    return true;
  }
  std::size_t number() const { return number_; }  // of the last line, from 1

 private:
  std::string_view text_;
  std::size_t begin_ = 0, number_ = 0;
};

std::string_view checked(std::string_view text, const std::string& where, Exit code) {
  text = without_byte_order_mark(text);
  if (text.size() > kMaxSettingsBytes)
    throw Error(where + " has more than 1048576 bytes, the most that settings have; give a file of settings", code);
  return text;
}

std::string place_of(const std::string& where, std::size_t line) {
  return where + ": line " + std::to_string(line) + " ";
}

// The name in `[name]` or `[[name]]`; nothing where the line is no such header.
std::optional<std::string> header_of(std::string_view line, bool repeated) {
  const std::string_view open = repeated ? "[[" : "[", close = repeated ? "]]" : "]";
  std::size_t end = line.find(close);
  if (!line.starts_with(open) || end == std::string_view::npos) return std::nullopt;
  std::string_view name = trimmed(line.substr(open.size(), end - open.size()));
  std::string_view rest = trimmed(line.substr(end + close.size()));
  if (!is_bare_key(name) || (!rest.empty() && rest.front() != '#')) return std::nullopt;
  return std::string(name);
}

// What is wrong with a line of a list, else "". `begins`: it is the first line; sets `ended` where the list ends in it.
std::string objection_in_list(std::string_view line, bool begins, bool& ended) {
  char quote = 0;
  for (std::size_t i = begins ? 1 : 0; i < line.size() && !ended; ++i) {
    const char c = line[i];
    if (quote) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      break;
    } else if (c == '[' || c == '{') {
      return "the elements of a list must be integers, floats, true, false or quoted strings, not lists";
    } else {
      ended = c == ']';
    }
  }
  return quote ? "a text ends on its line" : "";
}

// Reads the values of a list that begins in `line`; takes further lines from `lines`.
void read_list(std::string_view line, Lines& lines, TomlEntry& entry) {
  line = trimmed(line.substr(line.find('=') + 1));
  std::string text;
  bool ended = false;
  do {
    if (std::string why = objection_in_list(line, text.empty(), ended); !why.empty()) throw Error(why, Exit::failure);
    text.append(line).append("\n");
  } while (!ended && lines.next(line));
  if (!ended) throw Error("the list has no end", Exit::failure);
  text.insert(0, "list = ");
  toml::table table = toml::parse(text);
  const toml::array* list = table.begin()->second.as_array();
  SourceText source(text);
  for (const toml::node& node : *list) {
    entry.values.push_back(text_of(node, source));
    entry.in_quotes.push_back(node.is_string());
  }
}

// Adds the section of a header line; refuses other lines and a duplicate [name].
void begin_section(std::string_view line, const std::string& place, std::size_t number, Exit code,
                   std::map<std::string, bool>& names, std::vector<TomlSection>& sections) {
  TomlSection section;
  section.repeated = line.starts_with("[[");
  section.line = number;
  std::optional<std::string> name = header_of(line, section.repeated);
  if (!name)
    throw Error(place + "is `" + shown(line, kShownOfLine) + "`, expected key = value, [section] or [[section]]", code);
  section.name = *name;
  auto [same, is_new] = names.emplace(section.name, section.repeated);
  if (!is_new && !(same->second && section.repeated))
    throw Error(place + "begins [" + shown(section.name, kShownOfLine) + "] a second time", code);
  sections.push_back(section);
}

// The entry of a line that is no header. `lists`: whether a value may be a list.
TomlEntry entry_of(std::string_view line, const std::string& place, Lines& lines, bool lists, Exit code) {
  const std::size_t equals = line.find('=');
  TomlEntry entry;
  entry.line = lines.number();
  entry.key = trimmed(line.substr(0, equals));
  entry.is_list = lists && equals != std::string_view::npos && trimmed(line.substr(equals + 1)).starts_with('[');
  // Of a list only the name is checked here.
  if (std::string why = objection(entry.is_list ? line.substr(0, equals + 1) : line); !why.empty())
    throw Error(place + why, code);
  try {
    entry.is_list ? read_list(line, lines, entry) : read_value(line, entry);
  } catch (const std::exception& error) {
    throw Error(place + "sets " + shown(entry.key, kShownOfLine) + ": " + shown(error.what(), kWords) +
                    "; a value is a number, true, false or a text in quotes, " +
                    (lists ? "or a list [a, b] of such" : "on the line of its name"),
                code);
  }
  return entry;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_settings_toml(std::string_view text, const std::string& where,
                                                                    Exit code) {
  std::vector<std::pair<std::string, std::string>> settings;
  Lines lines(checked(text, where, code));
  for (std::string_view line; lines.next(line);) {
    if (line.empty() || line.front() == '#') continue;
    TomlEntry entry = entry_of(line, place_of(where, lines.number()), lines, false, code);
    settings.emplace_back(entry.key, entry.values[0]);
  }
  return settings;
}

std::vector<TomlSection> read_sections_toml(std::string_view text, const std::string& where, Exit code) {
  std::vector<TomlSection> sections(1);
  std::map<std::string, bool> names;  // and whether they may repeat
  std::set<std::string> keys;         // of the current section
  Lines lines(checked(text, where, code));
  for (std::string_view line; lines.next(line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::string place = place_of(where, lines.number());
    if (line.front() == '[') {
      begin_section(line, place, lines.number(), code, names, sections);
      keys.clear();
      continue;
    }
    TomlEntry entry = entry_of(line, place, lines, true, code);
    if (!keys.insert(entry.key).second)
      throw Error(place + "sets " + shown(entry.key, kShownOfLine) + " a second time", code);
    sections.back().entries.push_back(std::move(entry));
  }
  return sections;
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
      quoted += str_format("\\u%04X", code);
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
