#include "tools/report/json_input.h"

#include "engine/check.h"
#include "engine/io/bounded_json.h"
#include "engine/io/printable.h"

namespace sink::report {

using nlohmann::json;

void damaged(const Place& at, const std::string& what) {
  fail("report", at.file + ": " + (at.key.empty() ? "" : in_quotes(at.key) + ": ") + what, Exit::bad_input);
}

json parse_json(const std::string& text, const Place& at) {
  try {
    return parse_bounded_json(text);
  } catch (const JsonFailure& failure) { damaged(at, failure.what()); }
}

double to_number(const json& value, const Place& at) {
  if (value.is_number()) return value.get<double>();
  if (value.is_null()) return kNaN;
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (text == "nan" || text == "inf" || text == "-inf") return kNaN;
  }
  damaged(at, "expected a number or \"nan\", got " + std::string(value.type_name()));
}

Row to_row(const json& value, const Place& at) {
  if (!value.is_array()) damaged(at, "expected a list of values, got " + std::string(value.type_name()));
  Row row;
  row.reserve(value.size());
  for (const auto& item : value) row.push_back(to_number(item, at));
  return row;
}

Table to_table(const json& value, const Place& at) {
  if (!value.is_array()) damaged(at, "expected a list of rows, got " + std::string(value.type_name()));
  Table table;
  for (const auto& item : value) {
    table.push_back(to_row(item, at));
    if (table.back().size() != table.front().size())
      damaged(at, "rows differ in length: " + std::to_string(table.front().size()) + " and " +
                      std::to_string(table.back().size()));
  }
  return table;
}

std::string Reader::text(const char* key, const std::string& otherwise) const {
  if (!has(key)) return otherwise;
  if (!object[key].is_string()) damaged({file, key}, "expected a string");
  return object[key].get<std::string>();
}

std::int64_t Reader::integer(const char* key, std::int64_t otherwise) const {
  if (!has(key)) return otherwise;
  if (!object[key].is_number_integer() ||
      (object[key].is_number_unsigned() && object[key].get<std::uint64_t>() >> 63 != 0))
    damaged({file, key}, "expected a whole number");
  return object[key].get<std::int64_t>();
}

std::uint64_t Reader::seed(const char* key, std::uint64_t otherwise) const {
  if (!has(key)) return otherwise;
  if (!object[key].is_number_unsigned()) damaged({file, key}, "expected a whole number that is not negative");
  return object[key].get<std::uint64_t>();
}

}  // namespace sink::report
