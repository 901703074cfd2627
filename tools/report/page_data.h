// The values that the page draws, as one JSON document.
#pragma once

#include <optional>
#include <vector>

#include "tools/report/findings.h"

namespace sink::report {

// Indices into the page's colours (each with a marker) and dash patterns. The colour belongs to the ablation (or to the
// name of a model trained elsewhere), whatever other runs the page has; in a task with a single ablation to the group,
// in order of the labels. The first line of a colour in a task is solid, the others are dashed.
struct LineStyle {
  int colour = 0;
  int dash = 0;
};
constexpr int kColours = 8;
constexpr int kDashes = 6;

// One style per run of `runs`, in order.
std::vector<LineStyle> line_styles(const std::vector<Run>& runs, const std::vector<TaskRuns>& tasks);

// The lowest possible loss of a task whose distribution is known, in nats per target: expected on training batches, and
// on the sequences that `val_loss` of the curves (and of an evaluation with as many sequences, as long) was measured
// on.
struct LossFloor {
  std::optional<double> train;  // nothing with a prefix that leaves out targets
  double validation = 0;
};
// Nothing for text, for settings that make no such task, and where validation counts targets that the prefix shows.
std::optional<LossFloor> loss_floor(const Run& run);

// The task in headings.
std::string task_name(const std::string& task);

// As text for a <script> element of at most kDataBytes, for which maps are cut first:
// {measures, groups, runs, common, xs}: what the page says of the measures that it draws; a group is a task, whose
// `story` are the runs with attention patterns of the extreme groups (findings.h); `xs` are the steps of curves, named
// by their index there; `common` the settings in which all runs agree, a run's `settings` the others. Curves and tables
// by position have six digits, other values seven; null where they are not finite. Missing values are absent.
std::string page_json(const std::vector<Run>& runs, const std::vector<TaskRuns>& tasks);

constexpr std::size_t kDataBytes = 4'000'000;  // the rest of a page of a hundred runs takes up to 1 MB

}  // namespace sink::report
