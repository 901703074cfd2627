// Reads CSV (RFC 4180) a line at a time, as engine/io/csv.h writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sink::report {

class CsvLines {
 public:
  // `text` must outlive this object. A leading byte order mark is skipped. Messages begin with `file`.
  CsvLines(std::string_view text, std::string file);

  // The fields of the next line that is not empty, without quotes; false after the last one. Throws Error
  // (Exit::bad_input) for a quote inside an unquoted field, text after a closing quote, a
  // quote that is never closed, and more than kMaxFields fields.
  bool next(std::vector<std::string>& fields);
  // The location of that line: "runs.csv line 3".
  std::string where() const { return file_ + " line " + std::to_string(line_); }

  static constexpr std::size_t kMaxFields = 1000;

 private:
  // The field at `at_`, which moves to its end.
  std::string field();
  std::string quoted_field();
  bool at_line_end() const;

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0, line_ = 0, next_line_ = 1;
};

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
  std::int64_t whole(std::int64_t otherwise, std::int64_t most) const;
  std::uint64_t whole(std::uint64_t otherwise, std::uint64_t most) const;
  std::string one_of(const std::vector<std::string>& choices) const;

 private:
  [[noreturn]] void refuse(const std::string& expected) const;
  template <class Whole>
  Whole whole_of(Whole otherwise, Whole most) const;
};

}  // namespace sink::report
