// The report: one self-contained HTML page.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// The source of Chart.js: of the file `given`, or where distributions install it. Throws Error (Exit::bad_input) if it
// is missing or cannot be embedded in a page.
std::string read_chart_js(const std::string& given = {});

// `chart_js` is the source of Chart.js. The same input gives the same bytes. With `reload_seconds` the page reloads
// itself that often, for runs in progress.
std::string page(const std::vector<Run>& runs, const std::string& title, const std::string& chart_js,
                 int reload_seconds = 0);

}  // namespace sink::report
