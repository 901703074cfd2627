// The numbers the page draws, as one JSON document.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/report/findings.h"
#include "tools/report/page_maps.h"

namespace sink::report {

// How a run's line looks everywhere on the page: indices into the page's colours and dash patterns. Runs of one arm
// share the colour, and the marker that goes with it, in every task; the first line of a colour in a task is solid, the
// others are dashed, so that no two look alike.
struct LineStyle {
  int colour = 0;
  int dash = 0;
};
constexpr int kColours = 8;
constexpr int kDashes = 6;

// One style per run of `runs`, in order.
std::vector<LineStyle> line_styles(const std::vector<Run>& runs, const std::vector<Group>& groups);

// At most `points` of a curve: means over equal buckets of neighbours, placed at each bucket's last step, with the
// bucket's least and greatest value. NaNs do not count; a bucket of NaNs is NaN, a gap in the line. `x` and `y` are
// equally long; shorter curves stay whole, and have no `least` and `greatest`.
struct ThinCurve {
  Row x, y, least, greatest;
};
ThinCurve thin(const Row& x, const Row& y, std::size_t points);

// How much of the runs the page shows, so that it stays small.
struct PageLimits {
  std::size_t points = 300;     // of a curve
  std::size_t positions = 256;  // of norms and losses by position, from the first
  MapLimits maps;
};

// A task as the page's headings name it.
std::string task_name(const std::string& task);

// Of `levels` rows by layer, from the embedding on: the one that the page shows first.
constexpr std::size_t shown_level(std::size_t levels) { return (levels + 1) / 2; }

// What every run may be filtered and grouped by: its saved settings, ablation, task, name, seed, the policies by their
// kinds (`attention`, `position` ...), and whether it has finished.
std::map<std::string, std::string> filter_settings(const Run& run);

// {groups, runs, common, xs}: `xs` are the steps of curves, named by their index there; `common` the settings in which
// all runs agree, a run's `settings` the others. Numbers of curves and tables by position have six digits, the
// others seven; null where they are not finite. What a run does not have is absent.
nlohmann::json page_data(const std::vector<Run>& runs, const std::vector<Group>& groups, const PageLimits& limits);

// The same as text for a <script> element.
std::string page_json(const std::vector<Run>& runs, const std::vector<Group>& groups, const PageLimits& limits);

constexpr std::size_t kDataBytes = 4'000'000;  // of that text; the rest of a page of a hundred runs takes up to 1 MB

// The largest limits with which page_json takes at most `bytes`: maps are cut first.
PageLimits page_limits(const std::vector<Run>& runs, const std::vector<Group>& groups, std::size_t bytes);

}  // namespace sink::report
