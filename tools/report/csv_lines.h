// Reads CSV (RFC 4180) a line at a time, as engine/io/csv.h writes it.
#pragma once

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

}  // namespace sink::report
