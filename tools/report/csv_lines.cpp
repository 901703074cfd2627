#include "tools/report/csv_lines.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "engine/check.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"

namespace sink::report {

CsvLines::CsvLines(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

bool CsvLines::at_line_end() const {
  return at_ == text_.size() || text_[at_] == '\n' || text_.substr(at_).starts_with("\r\n");
}

bool CsvLines::next(std::vector<std::string>& fields) {
  fields.clear();
  while (at_ < text_.size() && at_line_end()) {
    at_ = text_.find('\n', at_) + 1;
    ++next_line_;
  }
  if (at_ == text_.size()) return false;
  line_ = next_line_;
  for (;; ++at_) {
    if (fields.size() == kMaxFields)
      throw Error(where() + ": expected at most " + std::to_string(kMaxFields) + " fields", Exit::bad_input);
    fields.push_back(at_ < text_.size() && text_[at_] == '"' ? quoted_field() : field());
    if (at_line_end()) break;
  }
  if (at_ < text_.size()) at_ = text_.find('\n', at_) + 1;
  ++next_line_;
  return true;
}

std::string CsvLines::field() {
  const std::size_t begin = at_;
  while (!at_line_end() && text_[at_] != ',') {
    if (text_[at_] == '"')
      throw Error(where() + ": a quote inside a field; write such a field in quotes and double its quotes",
                  Exit::bad_input);
    ++at_;
  }
  return std::string(text_.substr(begin, at_ - begin));
}

std::string CsvLines::quoted_field() {
  std::string value;
  for (++at_;;) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos)
      throw Error(where() + ": the quote of a field is never closed", Exit::bad_input);
    value += text_.substr(at_, quote - at_);
    at_ = quote + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    value += '"';
    ++at_;
  }
  next_line_ += static_cast<std::size_t>(std::count(value.begin(), value.end(), '\n'));
  if (!at_line_end() && text_[at_] != ',')
    throw Error(where() + ": text after the closing quote of a field", Exit::bad_input);
  return value;
}

void CsvCell::refuse(const std::string& expected) const {
  throw Error(line + ", column " + column + ": expected " + expected + ", got " + in_quotes(text), Exit::bad_input);
}

std::string CsvCell::plain() const {
  const bool guarded = text.size() > 1 && text[0] == '\'' && std::string("=+-@\t\r").find(text[1]) != std::string::npos;
  return guarded ? text.substr(1) : text;
}

double CsvCell::number(double low, double high) const {
  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  const double value = text.empty() ? low : parse_number<double>(text).value_or(kNoNumber);
  if (!(value >= low && value <= high))
    refuse(low == -kMaxValue ? "a number or nothing"
           : high == 100     ? "a number from 0 to 100, or nothing"
                             : "a number that is not negative, or nothing");
  return text.empty() ? kNoNumber : value;
}

template <class Whole>
Whole CsvCell::whole_of(Whole otherwise, Whole most) const {
  if (text.empty()) return otherwise;
  const std::optional<Whole> value = parse_number<Whole>(text);
  if (!value || *value < 0 || *value > most) refuse("a whole number from 0 to " + std::to_string(most));
  return *value;
}

std::int64_t CsvCell::whole(std::int64_t otherwise, std::int64_t most) const { return whole_of(otherwise, most); }
std::uint64_t CsvCell::whole(std::uint64_t otherwise, std::uint64_t most) const { return whole_of(otherwise, most); }

std::string CsvCell::one_of(const std::vector<std::string>& choices) const {
  if (std::ranges::find(choices, text) != choices.end()) return text;
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : ", ") + (choice.empty() ? "nothing" : choice);
  refuse("one of " + all);
}

}  // namespace sink::report
