#include "model/open/name_tables.h"

#include <sstream>

namespace sink {
namespace {

// The parts of a text between separators, the last one included.
std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size())
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace

std::vector<NameTable> name_tables(const std::string& page) {
  std::vector<NameTable> tables;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## "))
      tables.push_back({.title = line.substr(3), .text = {}, .rows = {}});
    else if (line.starts_with("| `"))
      tables.back().rows.push_back(split(line.substr(2, line.size() - 4), " | "));
    else if (!tables.empty() && !line.starts_with('|'))
      tables.back().text += line + "\n";
  }
  return tables;
}

std::vector<std::string> code_in(const std::string& cell) {
  const std::vector<std::string> parts = split(cell, "`");
  std::vector<std::string> code;
  for (std::size_t n = 1; n < parts.size(); n += 2) code.push_back(parts[n]);
  return code;
}

}  // namespace sink
