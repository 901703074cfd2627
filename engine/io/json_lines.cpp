#include "engine/io/json_lines.h"

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/utf8.h"

namespace sink {

void for_each_json_line(const char* tag, const std::string& path,
                        const std::function<bool(const nlohmann::json& object, std::int64_t line)>& take) {
  const std::string text = read_file(tag, path == "-" ? "/dev/stdin" : path);
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
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
