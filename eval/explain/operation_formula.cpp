#include "eval/explain/operation_formula.h"

#include <vector>

namespace sink {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0, to; (to = text.find('\n', from)) != std::string::npos; from = to + 1)
    lines.push_back(text.substr(from, to - from));
  return lines;
}

// The fields between runs of two or more blanks.
std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  for (std::size_t from = 0; from != std::string::npos && from < line.size();) {
    std::size_t to = line.find("  ", from);
    if (to != from) columns.push_back(line.substr(from, to - from));
    from = to == std::string::npos ? to : line.find_first_not_of(' ', to);
  }
  return columns;
}

}  // namespace

OperationFormula formula_of(const std::string& operation) {
  OperationFormula formula;
  std::string before;
  for (const std::string& line : lines_of(eval_file("attention_op.h"))) {
    if (line.starts_with("//   ")) {  // a line of the table: operation, g, r, z, m, [post,] proposed by
      std::vector<std::string> columns = columns_of(line.substr(5));
      if (columns.size() >= 6 && columns[0] == operation) {
        formula.g = columns[1], formula.r = columns[2], formula.z = columns[3], formula.m = columns[4];
        if (columns.size() > 6) formula.post = columns[5];
        formula.proposed_by = columns.back();
      }
    }
    if ((line + " ").starts_with("struct " + operation + " ") && before.starts_with("// "))
      formula.whole = before.substr(0, before.find(';')).substr(3);
    before = line;
  }
  return formula;
}

}  // namespace sink
