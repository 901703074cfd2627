// A study as a picture to look at (SVG): a row for every run, with its seeds, their mean and interval, and the paper's
// value next to it. Same results, same bytes.
#pragma once

#include <string>

#include "tools/sweep/study_results.h"

namespace sink {

// Panels: Sink_1 in percent by proxy weights, and raw where the two differ; the loss minus the baseline's; and, where
// interventions were measured, how much the loss rises without the first token's share. Each has a scale of its own. A
// row without a value in a panel is empty there.
std::string study_svg(const StudyResults& results);

}  // namespace sink
