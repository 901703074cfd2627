// The report itself: one self-contained HTML page.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// `chart_js` is the source of Chart.js, put into the page as it is. The same input gives the same bytes. With
// `reload_seconds` the page loads itself anew that often, while runs are followed. `lead` is HTML to stand before all
// else.
std::string page(const std::vector<Run>& runs, const std::string& title, const std::string& chart_js,
                 int reload_seconds = 0, const std::string& lead = {});

}  // namespace sink::report
