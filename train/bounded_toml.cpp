#include "train/bounded_toml.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

namespace sink {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 20;
constexpr std::size_t kLongestLine = std::size_t{1} << 14;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kShown = 40;  // bytes of a name in a message

// Why the line cannot be one of ours; else "".
std::string objection(std::string_view line) {
  if (line.size() > kLongestLine) return "has " + std::to_string(line.size()) + " bytes, at most 16384 are read";
  std::size_t begin = line.find_first_not_of(" \t\r\v\f");
  if (begin == std::string_view::npos || line[begin] == '#' || line[begin] == ';') return "";
  std::string_view key = line.substr(begin, std::min(line.find('='), line.size()) - begin);
  std::string shown(key.substr(0, std::min({key.size(), kShown, key.find_last_not_of(" \t\r") + 1})));
  if (key.front() == '[') return "is `" + shown + "`: sections are not used, settings stand as key = value";
  if (key.find('.') != std::string_view::npos) return "sets `" + shown + "`: no setting has a dot in its name";
  return "";
}

// CLI11 2.4 (Debian 13) resolves escapes in quoted texts, 2.3 (Debian 12) does not: what is given to it so that both
// read the text as it is written.
std::string kept_backslashes(std::string text) {
  if constexpr (CLI11_VERSION_MAJOR * 100 + CLI11_VERSION_MINOR >= 204)
    for (std::size_t i = 0; (i = text.find('\\', i)) != std::string::npos; i += 2) text.insert(i, 1, '\\');
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_bounded_toml(std::string_view text, const std::string& where,
                                                                   Exit code) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.size() > kLongestText)
    throw Error(where + " has " + std::to_string(text.size()) + " bytes, settings have at most 1048576", code);
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string why = objection(text.substr(begin, end - begin));
    if (!why.empty()) throw Error(where + ": line " + std::to_string(number) + " " + why, code);
    begin = end + 1;
  }
  CLI::ConfigTOML reader;
  reader.arrayBounds('\1', '\1');  // no setting is a list: keeps the reader from splitting texts at commas and blanks
  std::istringstream lines(kept_backslashes(std::string(text)));
  std::vector<std::pair<std::string, std::string>> settings;
  try {
    for (const CLI::ConfigItem& item : reader.from_config(lines)) {
      if (!item.parents.empty()) throw Error(where + ": sections are not used", code);
      // CLI11 gathers lines of one name that follow each other.
      for (const std::string& value : item.inputs) settings.emplace_back(item.name, value);
    }
  } catch (const Error&) { throw; } catch (const std::exception& error) {
    throw Error(where + ": " + error.what(), code);
  }
  return settings;
}

}  // namespace sink
