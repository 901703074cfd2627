#include "tools/report/results_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/io/printable.h"
#include "tools/report/findings.h"

namespace sink::report {
namespace {

using Cells = std::vector<std::string>;

std::string cell(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// Columns on a terminal: the bytes that do not continue a character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

Cells line_of(const Run& run, const std::string& label, bool star, bool inputs) {
  static const Evaluation none;
  const Evaluation& e = run.evaluation ? *run.evaluation : none;
  Cells cells{printable(run.name), printable(label)};
  cells.push_back(cell(e.get("val_loss"), 3));
  if (inputs) cells.push_back(e.input == "text" ? "" : cell(e.get("input_loss"), 3));
  for (const bool raw : {false, true}) cells.push_back(cell(e.sink_at(0.3, raw), 1));
  if (star)
    for (const bool raw : {false, true}) cells.push_back(cell(e.sink_star_at(0.3, raw), 1));
  for (const char* name : {"alpha_1", "alpha_1_raw"}) cells.push_back(cell(e.get(name), 3));
  if (star)
    for (const char* name : {"alpha_star", "alpha_star_raw"}) cells.push_back(cell(e.get(name), 3));
  cells.push_back(cell(e.total_mass(), 2));
  cells.push_back(cell(e.get("first_value_norm_ratio"), 2));
  cells.push_back(printable(run.mark()));
  return cells;
}

std::vector<Cells> heading(bool star, bool inputs) {
  Cells above{"", ""}, below{"run", "what it is"};
  const auto pair = [&](const char* name) {
    above.insert(above.end(), {name, name});
    below.insert(below.end(), {"proxy", "raw"});
  };
  above.emplace_back();
  below.emplace_back("loss");
  if (inputs) {
    above.emplace_back("loss on");
    below.emplace_back("its input");
  }
  pair("Sink_1 %");
  if (star) pair("Sink_* %");
  pair("alpha_1");
  if (star) pair("alpha_*");
  above.insert(above.end(), {"mass of", "|v_1| /", ""});
  below.insert(below.end(), {"a row", "mean |v_t|", ""});
  return {above, below};
}

std::string aligned(const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const Cells& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], width(line[c]));
  std::string text;
  for (const Cells& line : lines) {
    std::string row;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string space(widths[c] - width(line[c]), ' ');
      const bool words = c < 2 || c + 1 == line.size();  // the others are numbers, and stand to the right
      row += (c > 0 ? "  " : "") + (words ? line[c] + space : space + line[c]);
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

std::string results_table(const std::vector<Run>& runs) {
  const std::vector<Group> groups = group_by_task(runs);
  const bool star = std::any_of(groups.begin(), groups.end(), [](const Group& group) { return group.has_star(); });
  std::string text;
  for (const Group& group : groups) {
    const bool inputs = group.has_other_input();
    std::vector<Cells> lines = heading(group.has_star(), inputs);
    for (const Run* run : group.runs) lines.push_back(line_of(*run, group.label(*run), group.has_star(), inputs));
    if (!text.empty()) text += '\n';
    if (groups.size() > 1) text.append(printable(group.task)).append("\n");
    text += aligned(lines);
  }
  text += "raw: weights as they act; proxy: |a| / sum |a| of each row; the same where rows sum to one\n";
  if (star) text += "*: the extra key, whose weight is part of the mass of a row, or the sink token\n";
  return text;
}

}  // namespace sink::report
