#include "tools/report/csv_lines.h"

#include <algorithm>
#include <utility>

#include "engine/check.h"

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

}  // namespace sink::report
