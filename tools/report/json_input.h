// Typed access to untrusted JSON. Errors name the file and the key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/report/run_reader.h"

namespace sink::report {

// The location of a value, for messages.
struct Place {
  std::string file;
  std::string key;
};

// Throws Error (Exit::bad_input).
[[noreturn]] void damaged(const Place& at, const std::string& what);

nlohmann::json parse_json(const std::string& text, const Place& at);
// null, "nan", "inf" and "-inf" are NaN.
double to_number(const nlohmann::json& value, const Place& at);
Row to_row(const nlohmann::json& value, const Place& at);
Table to_table(const nlohmann::json& value, const Place& at);

// One JSON object; a missing key has the default.
struct Reader {
  const nlohmann::json& object;
  std::string file;

  bool has(const char* key) const { return object.contains(key) && !object[key].is_null(); }
  std::string text(const char* key, const std::string& otherwise) const;
  std::int64_t integer(const char* key, std::int64_t otherwise) const;
  std::uint64_t seed(const char* key, std::uint64_t otherwise) const;  // from 0 to 2^64 - 1
  Row row(const char* key) const { return has(key) ? to_row(object[key], {file, key}) : Row(); }
  Table table(const char* key) const { return has(key) ? to_table(object[key], {file, key}) : Table(); }
};

}  // namespace sink::report
