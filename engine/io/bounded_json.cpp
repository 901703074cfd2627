#include "engine/io/bounded_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/io/failed_download.h"
#include "engine/io/file.h"
#include "engine/io/utf8.h"

namespace sink {

std::size_t json_depth(std::string_view text, std::size_t limit) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size() && deepest < limit; ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

nlohmann::json parse_bounded_json(std::string_view text, std::size_t longest) {
  if (text.size() > longest)
    throw JsonFailure("it has " + std::to_string(text.size()) + " bytes, at most " + std::to_string(longest) +
                      " are read");
  if (json_depth(text, kDeepestJson + 1) > kDeepestJson)
    throw JsonFailure("it nests lists and objects more than " + std::to_string(kDeepestJson) + " deep");
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    if (const std::string what = failed_download(text); !what.empty()) throw JsonFailure("it " + what);
    // The message begins with "[json.exception...] " and quotes the last token, which may be all of a hostile file.
    const std::string_view reason = error.what();
    throw JsonFailure("not JSON: " + std::string(utf8_prefix(reason.substr(reason.find(' ') + 1), kLongestReason)));
  }
}

void for_each_json_line(const char* tag, const std::string& path,
                        const std::function<bool(const nlohmann::json& object, std::int64_t line)>& take) {
  const std::string bytes = read_file(tag, path == "-" ? "/dev/stdin" : path);
  const std::string_view text = without_byte_order_mark(bytes);
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      if (utf8_valid_prefix(line) < line.size()) throw JsonFailure("expected UTF-8");
      const auto object = parse_bounded_json(line);
      if (!object.is_object()) throw JsonFailure("expected a JSON object, got " + std::string(object.type_name()));
      if (!take(object, number)) return;
    } catch (const JsonFailure& failure) {
      fail(tag, path + ": line " + std::to_string(number) + ": " + failure.what(), Exit::bad_input);
    }
  }
}

}  // namespace sink
