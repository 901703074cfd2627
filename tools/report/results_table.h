// The final numbers of every run as a table for a terminal.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// One line a run under a heading; Sink_1 in percent at eps 0.3, proxy beside raw. "-" where a run is not finished.
std::string results_table(const std::vector<Run>& runs);

}  // namespace sink::report
