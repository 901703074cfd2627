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

// At most `points` of a curve: means over equal buckets of neighbours, placed at each bucket's last step. NaNs do not
// count in a mean; a bucket of NaNs is NaN, a gap in the line. `x` and `y` are equally long; shorter curves stay whole.
std::pair<Row, Row> thin(const Row& x, const Row& y, std::size_t points);

// {"groups": [...], "runs": [...]}; what a run does not have is absent. Long contexts are cut, to keep the page small.
nlohmann::json page_data(const std::vector<Run>& runs, const std::vector<Group>& groups, const MapLimits& limits);

}  // namespace sink::report
