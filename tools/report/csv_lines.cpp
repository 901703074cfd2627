#include "tools/report/csv_lines.h"

#include <algorithm>
#include <limits>

#include "engine/check.h"
#include "engine/io/printable.h"

namespace sink::report {

void for_each_csv_line(std::string_view text, const std::string& file,
                       const std::function<void(const std::vector<std::string>&, const std::string&)>& take) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string where = file + " line " + std::to_string(line);
    const auto refuse = [&](const std::string& why) { throw Error(where + ": " + why, Exit::bad_input); };
    std::vector<std::string> fields(1);
    bool quoted = false, closed = false;  // inside the quotes of the last field, and after them
    std::size_t at = 0;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (quoted) {
        const bool is_quote = c == '"', is_double = is_quote && text.substr(at + 1).starts_with('"');
        if (is_double) ++at;
        if (!is_quote || is_double) fields.back() += c;
        closed = is_quote && !is_double;
        quoted = !closed;
        line += c == '\n';
        continue;
      }
      if (c == '\n' || text.substr(at).starts_with("\r\n")) break;
      if (c == ',') {
        if (fields.size() == kMaxFields) refuse("expected at most " + std::to_string(kMaxFields) + " fields");
        fields.emplace_back();
        closed = false;
      } else if (closed) {
        refuse("text after the closing quote of a field");
      } else if (c != '"') {
        fields.back() += c;
      } else if (fields.back().empty()) {
        quoted = true;
      } else {
        refuse("a quote inside a field; write such a field in quotes and double its quotes");
      }
    }
    if (quoted) refuse("the quote of a field is never closed");
    if (at > 0) take(fields, where);
    text.remove_prefix(std::min(text.size(), text.find('\n', at)));
    text.remove_prefix(text.empty() ? 0 : 1);
  }
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
  if (text.empty()) return kNoNumber;
  const double value = parse_number<double>(text).value_or(kNoNumber);
  if (!(value >= low && value <= high))
    refuse(low == -kMaxValue ? "a number or nothing"
           : high == 100     ? "a number from 0 to 100, or nothing"
                             : "a number that is not negative, or nothing");
  return value;
}

std::string CsvCell::one_of(const std::vector<std::string>& choices) const {
  if (std::ranges::find(choices, text) != choices.end()) return text;
  refuse("one of " + joined(choices, ", ", [](const auto& choice) { return choice.empty() ? "nothing" : choice; }));
}

}  // namespace sink::report
