// Pages of `sinklab view` inside the report.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// A section with the page view.html of each run folder that has one, as `sinklab view RUN` writes it; empty if there is
// none. A page is a separate frame, without access to the report. At most `bytes` of pages are taken, in the order of
// the runs; the others are named.
std::string views(const std::vector<Run>& runs, std::size_t bytes);

}  // namespace sink::report
