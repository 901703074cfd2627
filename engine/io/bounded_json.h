// JSON of strangers: parsed only where it is neither too long nor nested so deeply that walking through it recursively,
// as copying and printing do, would overflow the stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sink {

struct JsonFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::size_t kDeepestJson = 64;
inline constexpr std::size_t kLongestReason = 200;
inline constexpr std::size_t kLongestJson = std::size_t{256} << 20;  // the largest tokenizer.json known has 33 MB

// Deepest nesting of [ and { outside of strings; counts at most `enough`. Makes sense of valid JSON, ends on any text.
inline std::size_t json_depth(std::string_view text, std::size_t enough) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size() && deepest < enough; ++i) {
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

// Throws JsonFailure with one line.
template <class Json = nlohmann::json>
Json parse_bounded_json(std::string_view text, std::size_t longest = kLongestJson) {
  if (text.size() > longest)
    throw JsonFailure("it has " + std::to_string(text.size()) + " bytes, at most " + std::to_string(longest) +
                      " are read");
  if (json_depth(text, kDeepestJson + 1) > kDeepestJson)
    throw JsonFailure("it nests lists and objects more than " + std::to_string(kDeepestJson) + " deep");
  try {
    return Json::parse(text);
  } catch (const typename Json::exception& error) {
    // The library quotes what it read last, which may be all of a hostile file.
    throw JsonFailure("not JSON: " + std::string(error.what()).substr(0, kLongestReason));
  }
}

}  // namespace sink
