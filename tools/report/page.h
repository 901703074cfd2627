// The report itself: one self-contained HTML page.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// `chart_js` is the source of Chart.js, put into the page as it is. The same input gives the same bytes.
std::string page(const std::vector<Run>& runs, const std::string& title, const std::string& chart_js);

}  // namespace sink::report
