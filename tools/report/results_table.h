// The numbers of every run as a table for a terminal.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// One table per task, one line per run: its name, what it is among the others (Group::label), loss (on other
// input than the run's own text in a column of its own), sinks in percent at
// eps 0.3, proxy beside raw, and those of the extra key or sink token where there is one. A run that has not finished
// shows its last measurement and says so. Control characters of names become "?".
std::string results_table(const std::vector<Run>& runs);

}  // namespace sink::report
