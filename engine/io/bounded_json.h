// Untrusted JSON: parsed only up to a maximum length and depth. (Copying and printing deep JSON recurses and would
// overflow the stack.) Also JSONL: one JSON object per line; empty lines are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sink {

struct JsonFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::size_t kDeepestJson = 64;
inline constexpr std::size_t kLongestReason = 200;
inline constexpr std::size_t kLongestJson = std::size_t{256} << 20;  // the largest known tokenizer.json has 33 MB

// The deepest nesting of [ and { outside strings, at most `limit`. Also terminates on invalid JSON.
std::size_t json_depth(std::string_view text, std::size_t limit);

// Throws JsonFailure with one line.
nlohmann::json parse_bounded_json(std::string_view text, std::size_t longest = kLongestJson);

// Calls take(object, line), with lines counted from 1, for each line of the file `path` until it returns false; `-` is
// standard input. Throws Error (Exit::bad_input) with file and line where a line is not UTF-8 or not a JSON object, or
// `take` throws JsonFailure.
void for_each_json_line(const char* tag, const std::string& path,
                        const std::function<bool(const nlohmann::json& object, std::int64_t line)>& take);

}  // namespace sink
