// engine/ops/attention/op/OPERATIONS.md is correct for every operation: its weights of one row, and its measurements.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/attention/op/attention_row.h"
#include "engine/ops/attention/ref/attention_ref.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

const std::string kPage = std::string(SINK_SOURCE_DIR) + "/engine/ops/attention/op/OPERATIONS.md";
const std::string kResults = std::string(SINK_SOURCE_DIR) + "/results/synthetic_task.md";

// The cells of a line of a table, without surrounding blanks and backticks.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t from = 1, to; (to = line.find('|', from)) != std::string::npos; from = to + 1) {
    std::string cell = line.substr(from, to - from);
    auto first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

// All lines of tables with this number of cells.
std::vector<std::vector<std::string>> rows_of(const std::string& path, std::size_t cells) {
  std::vector<std::vector<std::string>> rows;
  std::string text = read_bytes(path);
  for (std::size_t from = 0, to; (to = text.find('\n', from)) != std::string::npos; from = to + 1)
    if (text[from] == '|')
      if (std::vector<std::string> row = cells_of(text.substr(from, to - from)); row.size() == cells)
        rows.push_back(row);
  return rows;
}

std::string four_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", x == 0 ? 0.0 : x);
  return text;
}

template <class Op>
std::vector<std::string> row_of(const Op& op) {
  const std::vector<double> scores{2, 1, 0, -1};
  double n = static_cast<double>(scores.size()), m = first_m(op, n), S = 0, sum = 0;
  for (double s : scores) m = raised_m(op, m, s);
  if constexpr (ShiftsByThreshold<Op>) m = ref::threshold(op, scores);
  for (double s : scores) S += AttentionRow(op, m).r(s - m);
  AttentionRow row(op, m, S, n);
  std::vector<std::string> cells{operation_name<Op>()};
  for (double s : scores) {
    double a = row.post(row.g(s - m) / row.z());
    sum += a;
    cells.push_back(four_digits(a));
  }
  cells.push_back(four_digits(sum));
  return cells;
}

template <class Op>
std::vector<std::string> formula_row_of() {
  const OperationFormula f = operation_formula<Op>();
  std::vector<std::string> row{operation_name<Op>(), f.g, f.r, f.z, f.m, f.post, f.proposed_by};
  for (std::string& cell : row) cell = std::regex_replace(cell, std::regex("\\|"), "&#124;");
  return row;
}

}  // namespace

TEST_CASE("page of operations: the weights of its row are those of every operation, in a section each") {
  std::vector<std::vector<std::string>> rows = rows_of(kPage, 6);
  std::vector<std::vector<std::string>> formulas = rows_of(kPage, 7);
  std::string text = read_bytes(kPage);
  std::size_t count = 0;
#define SINK_ATTENTION_OP(Op)                                                                              \
  ++count;                                                                                                 \
  CHECK_MESSAGE(std::find(formulas.begin(), formulas.end(), formula_row_of<Op>()) != formulas.end(), #Op); \
  CHECK_MESSAGE(std::find(rows.begin(), rows.end(), row_of(Op())) != rows.end(), #Op);                     \
  CHECK_MESSAGE(text.find("\n### " #Op "\n") != std::string::npos, #Op);
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  CHECK(rows.size() == count + 2);  // with its header and the line below
}

TEST_CASE("page of operations: what it says was measured is in results/synthetic_task.md") {
  std::map<std::string, std::vector<std::string>> measured;
  for (const std::vector<std::string>& row : rows_of(kResults, 10)) measured[row[0]] = row;
  auto mean = [](const std::string& cell) { return cell.substr(0, cell.find(' ')); };
  std::vector<std::vector<std::string>> rows = rows_of(kPage, 5);
  CHECK(rows.size() > 16);
  for (std::size_t n = 2; n < rows.size(); ++n) {
    const std::vector<std::string>& row = rows[n];
    CAPTURE(row[1]);
    REQUIRE(measured.contains(row[1]));
    const std::vector<std::string>& there = measured[row[1]];
    CHECK(row[2] == mean(there[1]));
    CHECK(row[3] == mean(there[2]));
    CHECK(row[4] == there[8]);
  }
}
