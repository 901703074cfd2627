// Reads CSV (RFC 4180) a line at a time, as engine/io/csv.h writes it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/parse_number.h"

namespace sink::report {

inline constexpr std::size_t kMaxFields = 1000;  // of a line

// Calls take(fields without quotes, "runs.csv line 3") for each line that is not empty; a leading byte order mark is
// skipped. Throws Error (Exit::bad_input), beginning with that place, for a quote inside an unquoted field, text after
// a closing quote, a quote that is never closed, and more than kMaxFields fields.
void for_each_csv_line(std::string_view text, const std::string& file,
                       const std::function<void(const std::vector<std::string>&, const std::string&)>& take);

// A field and its location for messages. Every reader throws Error (Exit::bad_input) with line and column for a field
// that it does not accept.
struct CsvCell {
  const std::string& text;
  const std::string& line;
  const std::string& column;

  static constexpr double kMaxValue = 1e300;

  // Without the apostrophe that csv_field puts before formulas.
  std::string plain() const;
  // NaN for an empty field.
  double number(double low, double high) const;
  // From 0 to `most`; `otherwise` for an empty field.
  template <class Whole>
  Whole whole(Whole otherwise, Whole most) const {
    if (text.empty()) return otherwise;
    const std::optional<Whole> value = parse_number<Whole>(text);
    if (!value || *value < 0 || *value > most) refuse("a whole number from 0 to " + std::to_string(most));
    return *value;
  }
  std::string one_of(const std::vector<std::string>& choices) const;

 private:
  [[noreturn]] void refuse(const std::string& expected) const;
};

}  // namespace sink::report
