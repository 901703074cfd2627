// The values that the page draws, as one JSON document.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "tools/report/findings.h"
#include "tools/report/page_maps.h"

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

double six_digits(double value);  // the precision of curves and tables by position on the page

// A curve reduced to `points` means over equal buckets, each at the last step of its bucket, with the bucket's least
// and greatest value. NaNs are left out; a bucket of NaNs is NaN, a gap in the line. A shorter curve is unchanged and
// has no `least` and `greatest`.
struct ThinCurve {
  Row x, y, least, greatest;
};
ThinCurve thin(const Row& x, const Row& y, std::size_t points);
// The last point of each bucket, for what is measured now and then: no mean of several steps is shown as one of them.
ThinCurve last_of_buckets(const Row& x, const Row& y, std::size_t points);

// Bounds the size of the page.
struct PageLimits {
  std::size_t points = 300;     // of a curve
  std::size_t positions = 256;  // of norms and losses by position, from the first
  MapLimits maps;
};

// The task in headings.
std::string task_name(const std::string& task);

// The row by layer (of `levels`, from the embedding on) that the page shows first.
constexpr std::size_t shown_level(std::size_t levels) { return (levels + 1) / 2; }

// The settings that the page can filter and group by: saved settings, ablation, task, name, seed, the policies by their
// kinds (`attention`, `position` ...), and whether it has finished.
std::map<std::string, std::string> filter_settings(const Run& run);

// {measures, groups, runs, common, xs}: what the page says of the measures that it draws; a group is a task, whose
// `story` are the runs with attention patterns of the extreme groups (findings.h); `xs` are the steps of curves, named
// by their index there; `common` the settings in which all runs agree, a run's `settings` the others. Curves and tables
// by position have six digits, other values seven; null where they are not finite. Missing values are absent.
nlohmann::json page_data(const std::vector<Run>& runs, const std::vector<TaskRuns>& tasks, const PageLimits& limits);

// The same as text for a <script> element.
std::string page_json(const std::vector<Run>& runs, const std::vector<TaskRuns>& tasks, const PageLimits& limits);

constexpr std::size_t kDataBytes = 4'000'000;  // of that text; the rest of a page of a hundred runs takes up to 1 MB

// The largest limits with which page_json takes at most `bytes`: maps are cut first.
PageLimits page_limits(const std::vector<Run>& runs, const std::vector<TaskRuns>& tasks, std::size_t bytes);

}  // namespace sink::report
