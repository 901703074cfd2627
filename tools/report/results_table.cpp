#include "tools/report/results_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/printable.h"

namespace sink::report {
namespace {

std::string cell(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

}  // namespace

std::string results_table(const std::vector<Run>& runs) {
  std::size_t name_width = 4;
  for (const Run& run : runs) name_width = std::max(name_width, printable(run.name).size());
  std::string table;
  auto add = [&](const std::string& name, const std::vector<std::string>& cells) {
    table += name + std::string(name_width - name.size(), ' ');
    for (const std::string& text : cells) table += std::string(text.size() < 13 ? 13 - text.size() : 1, ' ') + text;
    table += "\n";
  };
  add("", {"", "Sink_1 %", "Sink_1 %", "alpha_1", "alpha_1", "mass of", "|v_1| /"});
  add("run", {"loss", "proxy", "raw", "proxy", "raw", "a row", "mean |v_t|"});
  const Evaluation none;
  for (const Run& run : runs) {
    const Evaluation& e = run.evaluation ? *run.evaluation : none;
    add(printable(run.name), {cell(e.get("val_loss"), 3), cell(e.sink_at(0.3, false), 1), cell(e.sink_at(0.3, true), 1),
                              cell(e.get("alpha_1"), 3), cell(e.get("alpha_1_raw"), 3), cell(e.get("row_mass"), 2),
                              cell(e.get("first_value_norm_ratio"), 2)});
  }
  return table + "raw: weights as they act; proxy: |a| / sum |a| of each row; the same where rows sum to one\n";
}

}  // namespace sink::report
