// The results of every run as a table for a terminal (results_csv.h).
#include <algorithm>
#include <cmath>

#include "engine/io/printable.h"
#include "engine/io/text_table.h"
#include "tools/report/findings.h"
#include "tools/report/html_text.h"
#include "tools/report/results_csv.h"

namespace sink::report {
namespace {

std::string cell(double value, int decimals) { return std::isfinite(value) ? number(value, decimals) : "-"; }

Cells line_of(const Run& run, const std::string& label, bool star, bool inputs) {
  static const Measurement none;
  const Measurement& e = run.evaluation ? *run.evaluation : none;
  Cells cells{printable(run.name), printable(label)};
  cells.push_back(cell(e.loss, 3));
  if (inputs) cells.push_back(e.input == "text" ? "" : cell(e.get(kInputLoss), 3));
  for (const bool raw : {false, true}) cells.push_back(cell(e.sink_at(0.3, raw), 1));
  if (star)
    for (const bool raw : {false, true}) cells.push_back(cell(e.sink_star_at(0.3, raw), 1));
  for (const SinkScores* scores : {&e.proxy, &e.raw}) cells.push_back(cell(scores->alpha_1, 3));
  if (star)
    for (const SinkScores* scores : {&e.proxy, &e.raw}) cells.push_back(cell(scores->alpha_star, 3));
  cells.push_back(cell(e.whole_row_sum(), 2));
  cells.push_back(cell(e.first_value_norm_ratio, 2));
  cells.push_back(printable(run.status()));
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
  above.insert(above.end(), {"row", "|v_1| /", ""});
  below.insert(below.end(), {"sum", "mean |v_t|", ""});
  return {above, below};
}

}  // namespace

std::string results_table(const std::vector<Run>& runs) {
  const std::vector<TaskRuns> tasks = group_by_task(runs);
  const bool star = std::any_of(tasks.begin(), tasks.end(), [](const TaskRuns& task) { return task.has_star(); });
  std::string text;
  for (const TaskRuns& task : tasks) {
    const bool inputs = task.has_other_input();
    std::vector<Cells> lines = heading(task.has_star(), inputs);
    for (const Run* run : task.runs) lines.push_back(line_of(*run, task.label(*run), task.has_star(), inputs));
    if (!text.empty()) text += '\n';
    if (tasks.size() > 1) text.append(printable(task.name)).append("\n");
    text += aligned(lines, [&](std::size_t c) { return c >= 2 && c + 1 < lines.front().size(); });
  }
  text += "raw: the weights that multiply the values; proxy: |a| / sum |a| of each row; equal where rows sum to one\n";
  if (star) text += "*: the extra key, whose weight is part of the row sum, or the sink token\n";
  return text;
}

}  // namespace sink::report
